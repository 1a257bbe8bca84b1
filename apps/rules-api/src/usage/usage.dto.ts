import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { PageQueryDto } from '../pagination/page-query.dto.js';
import { RANKS, STEPS, TOP_QUERY_FIELDS, USAGE_QUERY_FIELDS } from './usage-fields.js';

/** The query of a merchant's usage. */
export class UsageQueryDto extends PageQueryDto {
  static override readonly fields = USAGE_QUERY_FIELDS;

  @ApiPropertyOptional({ type: String, format: 'date-time', description: USAGE_QUERY_FIELDS.since.explanation })
  since?: string;

  @ApiPropertyOptional({ enum: STEPS, default: 'minute', description: USAGE_QUERY_FIELDS.step.explanation })
  step: (typeof STEPS)[number];
}

/** The query of the ranks of all merchants. */
export class TopQueryDto extends OmitType(PageQueryDto, ['cursor'] as const) {
  static readonly code = 'query';
  static readonly fields = TOP_QUERY_FIELDS;

  @ApiPropertyOptional({ type: String, format: 'date-time', description: TOP_QUERY_FIELDS.since.explanation })
  since?: string;

  @ApiPropertyOptional({ enum: RANKS, default: 'refused', description: TOP_QUERY_FIELDS.by.explanation })
  by: (typeof RANKS)[number];
}

class UsageNumbers {
  @ApiProperty({ type: 'integer', example: 940, description: 'Requests that passed.' })
  passed: number;

  @ApiProperty({ type: 'integer', example: 12, description: 'Requests that this rule refused.' })
  refused: number;

  @ApiProperty({ type: 'integer', example: 0, description: 'Requests that this rule, a shadow rule, would have refused.' })
  shadowRefused: number;

  @ApiProperty({
    type: 'integer',
    minimum: 0,
    maximum: 100,
    example: 0,
    description: 'The smallest remainder of one of its limits after a request, in percent of the limit; 100 if no limit was asked.',
  })
  leastRemainingPercent: number;
}

const RULE_ID = {
  type: String,
  example: '17',
  description: 'The id of the rule; none: no rule matched, or none could be asked; other: beyond what gateways tell apart.',
} as const;

/** What became of requests in one step. */
export class UsageView extends UsageNumbers {
  @ApiProperty({ type: String, format: 'date-time', description: 'When the step began.' })
  at: string;

  @ApiProperty(RULE_ID)
  ruleId: string;

  @ApiProperty({ type: String, nullable: true, example: 'card payments', description: 'The name of the rule; null if it is gone.' })
  rule: string | null;
}

export class UsagePage {
  @ApiProperty({ type: [UsageView], description: 'By time, the oldest first, then by rule. A step without a request is not listed.' })
  items: UsageView[];

  @ApiProperty({ type: String, nullable: true, description: 'The cursor of the next page, and null on the last page.' })
  nextCursor: string | null;
}

/** One rule of a merchant in a rank. */
export class RankedView extends UsageNumbers {
  @ApiProperty({ type: String, example: 'acme' })
  merchantId: string;

  @ApiProperty(RULE_ID)
  ruleId: string;
}

export class UsageTop {
  @ApiProperty({ type: String, format: 'date-time', description: 'From when on requests are counted.' })
  since: string;

  @ApiProperty({ type: [RankedView] })
  items: RankedView[];

  @ApiProperty({
    type: UsageNumbers,
    nullable: true,
    description:
      'Requests of ids that no merchant has, and of what was beyond the bounds of the counters; null for a token that is limited.',
  })
  other: UsageNumbers | null;
}
