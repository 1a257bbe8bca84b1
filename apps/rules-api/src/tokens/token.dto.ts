import { ApiProperty, OmitType } from '@nestjs/swagger';
import { type ApiTokenEntity, ROLES, type Role } from '#rules-db';
import { tableDto } from '../http/table-dto.js';
import { ROTATION_FIELDS, TOKEN_FIELDS } from './token-fields.js';

export class CreateTokenDto extends tableDto('token', TOKEN_FIELDS) {}

export class RotateTokenDto extends tableDto('token', ROTATION_FIELDS) {}

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
