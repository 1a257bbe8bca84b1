import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { changeDto } from '../http/change-dto.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';
import { ADJUST_FIELDS, BLOCK_FIELDS, BUCKET_QUERY_FIELDS, RESET_FIELDS, UNBLOCK_FIELDS } from './bucket-fields.js';

/** The query of a merchant's buckets. */
export class BucketQueryDto extends PageQueryDto {
  static override readonly fields = { ...PageQueryDto.fields, ...BUCKET_QUERY_FIELDS };

  @ApiPropertyOptional({ type: String, description: BUCKET_QUERY_FIELDS.ruleId.explanation })
  ruleId?: string;

  @ApiPropertyOptional({ type: String, description: BUCKET_QUERY_FIELDS.ip.explanation })
  ip?: string;

  @ApiPropertyOptional({ type: String, description: BUCKET_QUERY_FIELDS.method.explanation })
  method?: string;

  @ApiPropertyOptional({
    type: String,
    maxLength: BUCKET_QUERY_FIELDS.key.format.schema.maxLength!,
    description: BUCKET_QUERY_FIELDS.key.explanation,
  })
  key?: string;
}

export class ResetBucketsDto extends changeDto('bucket', RESET_FIELDS) {}
export class AdjustBucketDto extends changeDto('bucket', ADJUST_FIELDS) {}
export class BlockBucketDto extends changeDto('bucket', BLOCK_FIELDS) {}
export class UnblockBucketDto extends changeDto('bucket', UNBLOCK_FIELDS) {}

/** One bucket as it is now. */
export class BucketView {
  @ApiProperty({ type: String, example: '17' })
  ruleId: string;

  @ApiProperty({ type: String, example: 'card payments' })
  rule: string;

  @ApiProperty({ enum: ['merchant', 'plan', 'default'], description: 'The owner of the rule.' })
  source: 'merchant' | 'plan' | 'default';

  @ApiProperty({ type: String, example: 'burst' })
  limit: string;

  @ApiProperty({ type: [String], example: ['merchant'], description: 'The key of the rule: each combination of these parts has a bucket.' })
  key: readonly string[];

  @ApiProperty({
    type: [String],
    example: [],
    description: 'Parts of the key that the query has to name before the bucket can be read. The levels are null until then.',
  })
  needs: readonly string[];

  @ApiProperty({ type: 'integer', nullable: true, example: 10, description: 'The limit as it is written.' })
  capacity: number | null;

  @ApiProperty({ type: 'integer', nullable: true, example: 7, description: 'Tokens that are left.' })
  remaining: number | null;

  @ApiProperty({ type: 'integer', nullable: true, example: 600, description: 'Milliseconds until the bucket is full if it is left alone.' })
  resetAfterMs: number | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 0,
    description: "Milliseconds for which an operator's block goes on; 0 without one.",
  })
  blockedForMs: number | null;
}

export class BucketPage {
  @ApiProperty({ type: [BucketView] })
  items: BucketView[];

  @ApiProperty({ type: String, nullable: true, description: 'The cursor of the next page, and null on the last page.' })
  nextCursor: string | null;
}

/** A bucket with which an operation on several did not succeed. */
export class FailedBucket {
  @ApiProperty({
    type: 'integer',
    example: 3,
    description: 'Its place, from 0, among the buckets of the operation, in the order of the list.',
  })
  index: number;

  @ApiProperty({ type: String, example: '17' })
  ruleId: string;

  @ApiProperty({ type: String, example: 'burst' })
  limit: string;

  @ApiProperty({
    type: String,
    example: 'buckets.unavailable',
    description: 'The code that the problem would have if it were the only bucket.',
  })
  code: string;

  @ApiProperty({ type: String })
  detail: string;
}

/** What an operation has done. */
export class BucketsChanged {
  @ApiProperty({ type: [BucketView], description: 'The buckets after the operation.' })
  items: BucketView[];

  @ApiProperty({ type: [FailedBucket], description: 'Of several buckets, those with which it did not succeed; nearly always none.' })
  failed: FailedBucket[];
}
