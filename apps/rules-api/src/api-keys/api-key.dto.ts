import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import type { Labels } from '#limiter';
import type { MerchantApiKeyEntity } from '#rules-db';
import { RotatingSecretView, rotatingSecretView } from '../http/rotating-secret-view.js';
import { changeDto } from '../http/change-dto.js';
import { LABEL_FILTER } from '../pagination/label-filter.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';
import { API_KEY_FIELDS, API_KEY_ROTATION_FIELDS } from './api-key-fields.js';

export class CreateApiKeyDto extends changeDto('api_key', API_KEY_FIELDS) {}

export class RotateApiKeyDto extends changeDto('api_key', API_KEY_ROTATION_FIELDS) {
  static override readonly mayBeAbsent = true;
}

/** The query of the list of a merchant's keys. */
export class ApiKeyQueryDto extends PageQueryDto {
  static override readonly fields = { ...PageQueryDto.fields, label: LABEL_FILTER };

  @ApiPropertyOptional({ type: String, ...LABEL_FILTER.format.schema, description: LABEL_FILTER.explanation })
  label?: string;
}

/** A key as the API shows it, without the key. */
export class ApiKeyView extends RotatingSecretView {
  @ApiProperty({ type: String, example: '3' })
  id: string;

  @ApiProperty({ type: String, example: 'web shop' })
  name: string;

  @ApiProperty({ type: String, nullable: true, example: 'shop-7' })
  user: string | null;

  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, example: { team: 'web' } })
  labels: Labels;
}

/** The only answer that ever shows a key. */
export class NewApiKeyView extends OmitType(ApiKeyView, [] as const) {
  @ApiProperty({ type: String, example: 'tgk_5f0c2a91be04_…', description: 'Shown now and never again' })
  key: string;
}

export class ApiKeyPage {
  @ApiProperty({ type: [ApiKeyView] })
  items: ApiKeyView[];

  @ApiProperty({ type: String, nullable: true, description: 'The cursor of the next page; null on the last one' })
  nextCursor: string | null;
}

export function apiKeyView(key: MerchantApiKeyEntity): ApiKeyView {
  const { id, name: called, user, labels } = key;
  return { id, name: called, user, labels, ...rotatingSecretView(key) };
}
