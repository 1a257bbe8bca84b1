import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { isMerchantId, isTimeZone, MERCHANT_ID_EXPECTED, MERCHANT_ID_MAX_LENGTH } from '#limiter';
import { type MerchantEntity } from '#rules-db';
import { type Check, fault, Fits, line, LINE_PATTERN } from '../http/field-rules.js';

const NAME_MAX_LENGTH = 200;

/** `.` and `..` cannot be addressed: every HTTP client resolves them in a path, percent-encoded or not. */
const merchantId: Check = (value) =>
  isMerchantId(value) && value !== '.' && value !== '..' ? [] : fault(`must be ${MERCHANT_ID_EXPECTED}, and neither . nor ..`, value);

const timeZone: Check = (value) => (isTimeZone(value) ? [] : fault('must be an IANA time zone like Europe/Berlin', value));

const unless =
  (value: unknown, check: Check): Check =>
  (actual, object, property) =>
    actual === value ? [] : check(actual, object, property);

export class CreateMerchantDto {
  @ApiProperty({
    type: String,
    minLength: 1,
    maxLength: MERCHANT_ID_MAX_LENGTH,
    pattern: `(?!^\\.{1,2}$)${LINE_PATTERN}`,
    example: 'acme',
    description: MERCHANT_ID_EXPECTED,
  })
  @Fits(merchantId)
  id: string;

  @ApiProperty({ type: String, minLength: 1, maxLength: NAME_MAX_LENGTH, pattern: LINE_PATTERN, example: 'Acme' })
  @Fits(line(NAME_MAX_LENGTH))
  name: string;

  @ApiPropertyOptional({ type: String, default: 'UTC', example: 'Europe/Berlin', description: 'IANA time zone' })
  @Fits(timeZone)
  timeZone: string = 'UTC';
}

/** Only what is there is changed. The id is for ever. */
export class UpdateMerchantDto {
  @ApiPropertyOptional({ type: String, minLength: 1, maxLength: NAME_MAX_LENGTH, pattern: LINE_PATTERN, example: 'Acme Ltd' })
  @Fits(unless(undefined, line(NAME_MAX_LENGTH)))
  name?: string;

  @ApiPropertyOptional({ type: String, example: 'Europe/Berlin', description: 'IANA time zone' })
  @Fits(unless(undefined, timeZone))
  timeZone?: string;
}

/** A merchant as the API shows it. */
export class MerchantView {
  @ApiProperty({ type: String, example: 'acme' })
  id: string;

  @ApiProperty({ type: String, example: 'Acme' })
  name: string;

  @ApiProperty({ type: String, example: 'Europe/Berlin' })
  timeZone: string;

  @ApiProperty({ type: 'integer', minimum: 1, example: 1, description: 'Counts the changes; in double quotes it is the ETag' })
  version: number;

  @ApiProperty({ type: String, format: 'date-time' })
  createdAt: string;

  @ApiProperty({ type: String, format: 'date-time' })
  updatedAt: string;
}

export class MerchantPage {
  @ApiProperty({ type: [MerchantView] })
  items: MerchantView[];

  @ApiProperty({ type: String, nullable: true, description: 'The cursor of the next page; null on the last one' })
  nextCursor: string | null;
}

export function merchantView({ id, name, timeZone, version, createdAt, updatedAt }: MerchantEntity): MerchantView {
  return { id, name, timeZone, version, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}
