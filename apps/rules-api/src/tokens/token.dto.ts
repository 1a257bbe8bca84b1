import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { isMerchantId, MERCHANT_ID_EXPECTED } from '#limiter';
import { type ApiTokenEntity, ROLES, type Role } from '#rules-db';
import { type Check, fault, Fits, line, LINE_PATTERN, listOf, oneOf, wholeNumber } from '../http/field-rules.js';
import { isMoment } from '../http/moment.js';

const NAME_MAX_LENGTH = 100;
const MAX_MERCHANTS = 100;
const MAX_OVERLAP_SECONDS = 604_800;

/** The name of whoever has TOLLGATE_ADMIN_TOKEN: in the audit it must mean nobody else. */
const RESERVED_NAME = 'admin';

const name: Check = (value, object, property) =>
  value === RESERVED_NAME
    ? fault('must be another name, because this one is TOLLGATE_ADMIN_TOKEN in the audit', value)
    : line(NAME_MAX_LENGTH)(value, object, property);

const merchants: Check = (value, object, property) =>
  value === null
    ? []
    : listOf((id) => (isMerchantId(id) ? [] : fault(`must be ${MERCHANT_ID_EXPECTED}`, id)), { min: 1, max: MAX_MERCHANTS })(
        value,
        object,
        property,
      );

const expiry: Check = (value) =>
  value === null || isMoment(value) ? [] : fault('must be a time with a zone like 2027-01-01T00:00:00Z, or null for never', value);

export class CreateTokenDto {
  @ApiProperty({
    type: String,
    minLength: 1,
    maxLength: NAME_MAX_LENGTH,
    pattern: LINE_PATTERN,
    example: 'deploy pipeline',
    description: 'Stands in the audit',
  })
  @Fits(name)
  name: string;

  @ApiProperty({
    enum: ROLES,
    example: 'editor',
    description:
      'viewer reads; editor writes merchants and rules; approver approves changes; admin does everything. Each may do what those before it may',
  })
  @Fits(oneOf(ROLES))
  role: Role;

  @ApiPropertyOptional({
    type: [String],
    nullable: true,
    minItems: 1,
    maxItems: MAX_MERCHANTS,
    default: null,
    example: ['acme'],
    description: 'The merchants to which the token is limited; null: all',
  })
  @Fits(merchants)
  merchants: string[] | null = null;

  @ApiPropertyOptional({
    type: String,
    format: 'date-time',
    nullable: true,
    default: null,
    description: 'When it stops being good by itself; null: never',
  })
  @Fits(expiry)
  expiresAt: string | null = null;
}

export class RotateTokenDto {
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: MAX_OVERLAP_SECONDS,
    default: 3_600,
    description: 'Seconds for which the former token is good beside the new one',
  })
  @Fits(wholeNumber(0, MAX_OVERLAP_SECONDS))
  overlapSeconds: number = 3_600;
}

/** A token as the API shows it, without the token. */
export class TokenView {
  @ApiProperty({ type: String, example: '3' })
  id: string;

  @ApiProperty({ type: String, example: 'deploy pipeline' })
  name: string;

  @ApiProperty({ enum: ROLES })
  role: Role;

  @ApiProperty({ type: [String], nullable: true })
  merchants: readonly string[] | null;

  @ApiProperty({ type: String, example: '5f0c2a91be04', description: 'Stands in the token behind tga_' })
  prefix: string;

  @ApiProperty({ type: String, nullable: true, description: 'The prefix of the token before the last rotation' })
  formerPrefix: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'Until when the former token is good' })
  formerUntil: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  expiresAt: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'To the minute' })
  lastUsedAt: string | null;

  @ApiProperty({ type: String, format: 'date-time' })
  createdAt: string;
}

/** The only answer that ever shows a token. */
export class NewTokenView extends OmitType(TokenView, [] as const) {
  @ApiProperty({ type: String, example: 'tga_5f0c2a91be04_…', description: 'Shown now and never again' })
  token: string;
}

export class TokenPage {
  @ApiProperty({ type: [TokenView] })
  items: TokenView[];

  @ApiProperty({ type: String, nullable: true, description: 'The cursor of the next page; null on the last one' })
  nextCursor: string | null;
}

export function tokenView({
  id,
  name: called,
  role,
  merchants: limitedTo,
  prefix,
  formerPrefix,
  formerUntil,
  expiresAt,
  lastUsedAt,
  createdAt,
}: ApiTokenEntity): TokenView {
  const text = (at: Date | null) => at?.toISOString() ?? null;
  return {
    id,
    name: called,
    role,
    merchants: limitedTo,
    prefix,
    formerPrefix,
    formerUntil: text(formerUntil),
    expiresAt: text(expiresAt),
    lastUsedAt: text(lastUsedAt),
    createdAt: createdAt.toISOString(),
  };
}
