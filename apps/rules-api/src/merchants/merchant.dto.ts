import { ApiProperty } from '@nestjs/swagger';
import type { Labels } from '#limiter';
import type { MerchantChanges, MerchantEntity } from '#rules-db';
import { changeDto } from '../http/change-dto.js';
import { validated } from '../http/validation.pipe.js';
import { VersionedView, versionedView } from '../http/versioned-view.js';
import { MERCHANT_CHANGE_FIELDS, MERCHANT_FIELDS } from './merchant-fields.js';

export class CreateMerchantDto extends changeDto('merchant', MERCHANT_FIELDS) {}

/** A merchant after a change, without its id. */
export class UpdateMerchantDto extends changeDto('merchant', MERCHANT_CHANGE_FIELDS) {}

/** The document's name for a merge patch of a merchant; its schema is made from that of UpdateMerchantDto. */
export class MerchantPatch {}

/** A merchant as the API shows it. */
export class MerchantView extends VersionedView {
  @ApiProperty({ type: String, example: 'acme' })
  id: string;

  @ApiProperty({ type: String, example: 'Acme' })
  name: string;

  @ApiProperty({ type: String, example: 'Europe/Berlin' })
  timeZone: string;

  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, example: { region: 'eu' } })
  labels: Labels;

  @ApiProperty({ type: String, nullable: true, example: null, description: 'The plan whose rules the merchant shares; null: none.' })
  plan: string | null;
}

export class MerchantPage {
  @ApiProperty({ type: [MerchantView] })
  items: MerchantView[];

  @ApiProperty({ type: String, nullable: true, description: 'The cursor of the next page, and null on the last page.' })
  nextCursor: string | null;
}

export function merchantView({ id, name, timeZone, labels, plan, ...stored }: MerchantEntity): MerchantView {
  return { id, name, timeZone, labels, plan, ...versionedView(stored) };
}

/** What is written of a merchant, of a body that may have more of what the API has shown. @throws ProblemError 400 for what cannot be written */
export function merchantChanges(body: unknown): MerchantChanges {
  const { name, timeZone, labels, plan } = validated(body, UpdateMerchantDto);
  return { name, timeZone, labels: labels ?? {}, plan: plan ?? null };
}
