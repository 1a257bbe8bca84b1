import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { KeyProperty } from '../buckets/key-property.js';
import type { DecisionReceipt } from '../buckets/live-reports.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';
import { DECISION_QUERY_FIELDS, OUTCOMES } from './decision-fields.js';

export class DecisionQueryDto extends OmitType(PageQueryDto, ['cursor'] as const) {
  static readonly code = 'query';
  static readonly fields = DECISION_QUERY_FIELDS;

  @ApiPropertyOptional({ type: String, description: DECISION_QUERY_FIELDS.after.explanation })
  after?: string;

  @ApiPropertyOptional({ type: String, description: DECISION_QUERY_FIELDS.merchant.explanation })
  merchant?: string;

  @ApiPropertyOptional({ enum: OUTCOMES, default: 'refused', description: DECISION_QUERY_FIELDS.outcome.explanation })
  outcome: (typeof OUTCOMES)[number];

  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: 10, default: 0, description: DECISION_QUERY_FIELDS.wait.explanation })
  wait: string;
}

class DecisionLimit {
  @ApiProperty({ type: String, example: '17' })
  ruleId: string;

  @ApiProperty({ type: String, example: 'card payments' })
  rule: string;

  @ApiProperty({ type: String, example: 'burst' })
  limit: string;

  @ApiProperty({ type: 'integer', example: 2, description: 'The generation of the limit: how often its numbers had been edited by then.' })
  generation: number;

  @ApiProperty({ type: Boolean, example: false })
  allowed: boolean;

  @ApiProperty({ type: 'integer', example: 10 })
  capacity: number;

  @ApiProperty({ type: 'integer', example: 1, description: 'Tokens that the request asked for.' })
  cost: number;

  @ApiProperty({ type: 'integer', nullable: true, example: 0, description: 'Tokens before the request; null if it is not known.' })
  remainingBefore: number | null;

  @ApiProperty({ type: 'integer', example: 0, description: 'Tokens after it: a refusal takes none.' })
  remainingAfter: number;

  @ApiProperty({ type: 'integer', nullable: true, example: 200, description: 'When this limit would let it pass; null: never.' })
  retryAfterMs: number | null;

  @KeyProperty()
  key: Readonly<Record<string, string>>;
}

/** What was decided about one request, and why. */
export class DecisionView {
  @ApiProperty({ type: String, example: 'k3J9xZ-1f' })
  requestId: string;

  @ApiProperty({ type: String, format: 'date-time', description: 'By the clock of Redis.' })
  at: string;

  @ApiProperty({ type: String, example: 'acme' })
  merchantId: string;

  @ApiProperty({ type: Boolean, example: false })
  allowed: boolean;

  @ApiProperty({ type: String, example: 'POST' })
  method: string;

  @ApiProperty({ type: String, example: '/transactions/17', description: 'The path without the query, its first 1024 characters.' })
  path: string;

  @ApiProperty({ type: String, example: 'over_limit', description: 'The reason of the decision, as gateways count it in their metrics.' })
  reason: string;

  @ApiProperty({
    type: String,
    example: 'store',
    description:
      'Where it was decided: store (Redis), memory (a remembered refusal), lease (tokens that the gateway took in advance), optimistic (by what the gateway knew), local (a bucket in the gateway), none (no bucket was asked).',
  })
  source: string;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 200,
    description: 'Milliseconds until the request would pass; null if never, or if it is not known.',
  })
  retryAfterMs: number | null;

  @ApiProperty({ type: String, nullable: true, example: null, description: 'The route to which it went because it was over a limit.' })
  reroutedTo: string | null;

  @ApiProperty({ type: [DecisionLimit], description: 'The limits that were asked, those that refused first; at most 16.' })
  limits: DecisionLimit[];
}

export class DecisionsAfter {
  @ApiProperty({ type: [DecisionView], description: 'The oldest first. May be empty although there is more: go on from the cursor.' })
  items: DecisionView[];

  @ApiProperty({ type: String, example: '1763800000000-0', description: 'The cursor for the parameter after of the next request.' })
  cursor: string;
}

export function decisionView({
  atMs,
  pathIsCut: _,
  ignorePathCase: __,
  sample: ___,
  limits,
  reroutedTo,
  ...receipt
}: DecisionReceipt): DecisionView {
  return { ...receipt, at: new Date(atMs).toISOString(), reroutedTo: reroutedTo ?? null, limits: [...limits] };
}
