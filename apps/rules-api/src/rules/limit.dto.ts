import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { LIMIT_BOUNDS, limitFaults, type LimitSpec, type Refill, type TokenBucketSpec } from '#limiter';
import { type Check, Fits, oneOf, shown } from '../http/field-rules.js';

const ALGORITHMS = ['token_bucket'] as const;
const REFILLS = ['greedy', 'interval'] as const;

/** The limiter says what makes a bucket; each field shows its own faults. */
const limitField: Check = (_value, object, property) =>
  limitFaults(object as TokenBucketSpec)
    .filter(({ field }) => field === property)
    .map(({ detail }) => ({ at: '', detail: detail.replace(/, got undefined$/, ', got nothing') }));

/** One limit of a rule. */
export class LimitDto {
  @ApiProperty({
    type: String,
    maxLength: LIMIT_BOUNDS.name.maxLength,
    pattern: LIMIT_BOUNDS.name.pattern.source,
    example: 'burst',
    description: 'Names the limit in the RateLimit headers; different within the rule',
  })
  @Fits(limitField)
  name: string;

  @ApiProperty({ enum: ALGORITHMS, example: 'token_bucket' })
  @Fits(oneOf(ALGORITHMS))
  algorithm: 'token_bucket';

  @ApiProperty({ type: 'integer', minimum: LIMIT_BOUNDS.capacity.min, maximum: LIMIT_BOUNDS.capacity.max, example: 10, description: 'Tokens the bucket holds: the permitted burst' })
  @Fits(limitField)
  capacity: number;

  @ApiProperty({ type: 'integer', minimum: LIMIT_BOUNDS.refillTokens.min, maximum: LIMIT_BOUNDS.refillTokens.max, example: 5, description: 'Tokens that come back in each interval' })
  @Fits(limitField)
  refillTokens: number;

  @ApiProperty({ type: 'integer', minimum: LIMIT_BOUNDS.refillIntervalMs.min, maximum: LIMIT_BOUNDS.refillIntervalMs.max, example: 1_000, description: 'Milliseconds' })
  @Fits(limitField)
  refillIntervalMs: number;

  @ApiPropertyOptional({ enum: REFILLS, default: 'greedy', description: 'greedy refills continuously, interval in whole steps' })
  @Fits(limitField)
  refill: Refill = 'greedy';

  @ApiPropertyOptional({
    type: 'integer',
    minimum: LIMIT_BOUNDS.initialTokens.min,
    maximum: LIMIT_BOUNDS.initialTokens.max,
    description: 'Level at which the limit starts, if not full; above the capacity it is a launch surplus',
  })
  @Fits(limitField)
  initialTokens?: number;
}

/** Limits are told apart by name: in headers, and when a rule is edited. */
export const differentNames: Check = (value) => {
  const names = Array.isArray(value) ? value.map((limit: unknown) => (limit as { name?: unknown } | null)?.name) : [];
  return names.flatMap((name, index) =>
    typeof name === 'string' && names.indexOf(name) < index
      ? [{ at: `/${index}/name`, detail: `must differ from the names of the other limits, got ${shown(name)} again` }]
      : [],
  );
};

/** Only the fields of the API: a stored limit has more, a DTO has fields that are undefined. */
export function limitSpec({ name, algorithm, capacity, refillTokens, refillIntervalMs, refill, initialTokens }: LimitSpec | LimitDto): LimitSpec {
  return {
    name,
    algorithm,
    capacity,
    refillTokens,
    refillIntervalMs,
    refill,
    ...(initialTokens !== undefined && { initialTokens }),
  };
}
