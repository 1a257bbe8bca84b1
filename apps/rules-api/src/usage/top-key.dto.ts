import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { KeyProperty } from '../buckets/key-property.js';
import { TOP_KEY_RANKS, type TopKeyRank } from '../buckets/live-reports.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';
import { TOP_KEY_QUERY_FIELDS } from './top-key-fields.js';

export class TopKeyQueryDto extends OmitType(PageQueryDto, ['cursor'] as const) {
  static readonly code = 'query';
  static readonly fields = TOP_KEY_QUERY_FIELDS;

  @ApiPropertyOptional({ type: String, format: 'date-time', description: TOP_KEY_QUERY_FIELDS.since.explanation })
  since?: string;

  @ApiPropertyOptional({ enum: TOP_KEY_RANKS, default: 'refused', description: TOP_KEY_QUERY_FIELDS.by.explanation })
  by: TopKeyRank;

  @ApiPropertyOptional({ type: String, description: TOP_KEY_QUERY_FIELDS.merchant.explanation })
  merchant?: string;
}

/** One key of a rule in a rank. */
export class RankedKeyView {
  @ApiProperty({ type: String, example: 'acme' })
  merchantId: string;

  @ApiProperty({ type: String, example: '17' })
  ruleId: string;

  @KeyProperty()
  key: Readonly<Record<string, string>>;

  @ApiProperty({ type: 'integer', example: 1280, description: 'Requests, or refusals by this rule: estimated, see overestimatedBy.' })
  count: number;
}

export class TopKeys {
  @ApiProperty({ type: String, format: 'date-time', description: 'From when on requests are counted.' })
  since: string;

  @ApiProperty({ type: [RankedKeyView] })
  items: RankedKeyView[];

  @ApiProperty({
    type: 'integer',
    example: 0,
    description: 'By how much each count may be too high, because there were more keys than a rank has places.',
  })
  overestimatedBy: number;
}
