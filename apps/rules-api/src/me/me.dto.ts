import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { BUCKET_QUERY_FIELDS } from '../buckets/bucket-fields.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';

const { ip: IP, method: METHOD } = BUCKET_QUERY_FIELDS;

/** The query of a merchant's own limits. */
export class MyLimitsQueryDto extends PageQueryDto {
  static override readonly fields = { ...PageQueryDto.fields, ip: IP, method: METHOD };

  @ApiPropertyOptional({ type: String, description: IP.explanation })
  ip?: string;

  @ApiPropertyOptional({ type: String, description: METHOD.explanation })
  method?: string;
}

class MyCountsView {
  @ApiProperty({ type: 'integer', example: 940, description: 'Requests that passed under the rule.' })
  passed: number;

  @ApiProperty({ type: 'integer', example: 12, description: 'Requests that the rule refused.' })
  refused: number;
}

/** What became of a merchant's requests under one rule, as gateways have told it: a few seconds late. */
export class MyUsageView {
  @ApiProperty({ type: MyCountsView, description: 'Requests in the minutes that began within the last hour.' })
  lastHour: MyCountsView;

  @ApiProperty({ type: MyCountsView, description: 'Requests in the minutes that began within the last day.' })
  lastDay: MyCountsView;
}

class MyRoutesView {
  @ApiProperty({ type: [String], example: ['POST'], description: 'Their methods; an empty list means all.' })
  methods: readonly string[];

  @ApiProperty({ type: [String], example: ['/transactions/*/capture'], description: 'Their paths; an empty list means all.' })
  paths: readonly string[];
}

class MyReserveView {
  @ApiProperty({ type: 'integer', example: 20, description: 'How much is reserved: other requests are refused when no more is left.' })
  quota: number;

  @ApiProperty({ type: [MyRoutesView], description: 'The routes for which it is.' })
  routes: MyRoutesView[];
}

/** A limit as its merchant sees it: what the gateway says in its answers, before there is one. Nothing of it is meant for administrators only. */
export class MyLimitView {
  @ApiProperty({ type: String, example: '17', description: 'The id of the rule; limits of one rule count together.' })
  ruleId: string;

  @ApiProperty({ type: String, example: 'burst', description: 'The name of the limit, as in the header RateLimit.' })
  limit: string;

  @ApiProperty({ type: String, example: 'token_bucket' })
  algorithm: string;

  @ApiProperty({ type: [String], example: ['POST'], description: 'The methods that the limit applies to; an empty list means all but OPTIONS.' })
  methods: readonly string[];

  @ApiProperty({
    type: [String],
    example: ['/transactions/**'],
    description: 'The paths that the limit applies to; an empty list means all.',
  })
  paths: readonly string[];

  @ApiProperty({
    type: 'integer',
    example: 10,
    description: 'How much is allowed at once, or in a window; q in the header RateLimit-Policy.',
  })
  quota: number;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 2_000,
    description:
      'Milliseconds in which the whole quota comes back; null if it does not come back with time, as for requests at the same time.',
  })
  windowMs: number | null;

  @ApiProperty({
    type: [String],
    example: [],
    description:
      'What the query has to name before the level can be read, because the limit counts it apart. The levels are null until then.',
  })
  needs: readonly string[];

  @ApiProperty({ type: 'integer', nullable: true, example: 7, description: 'Tokens or requests that are left.' })
  remaining: number | null;

  @ApiPropertyOptional({ type: MyReserveView, description: 'What of the limit is reserved for some routes, if anything is.' })
  reserve?: MyReserveView;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 600,
    description: 'Milliseconds until everything is there again if nothing is sent.',
  })
  resetAfterMs: number | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 0,
    description: 'Milliseconds for which everything is refused; 0 without a block.',
  })
  blockedForMs: number | null;

  @ApiProperty({
    type: MyUsageView,
    description: 'Requests under the rule that passed and were refused; the limits of a rule are counted together.',
  })
  usage: MyUsageView;
}

export class MyLimitPage {
  @ApiProperty({ type: [MyLimitView] })
  items: MyLimitView[];

  @ApiProperty({ type: String, nullable: true, description: 'The cursor of the next page, and null on the last page.' })
  nextCursor: string | null;
}
