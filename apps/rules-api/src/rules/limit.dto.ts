import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { plainToInstance } from 'class-transformer';
import {
  type Align,
  ALGORITHM_NAMES,
  ALIGNS,
  CALENDAR_UNITS,
  type CalendarUnit,
  fieldsOf,
  LIMIT_BOUNDS,
  limitFaults,
  type LimitSpec,
  ON_EDITS,
  type OnEdit,
  REFILLS,
  type Refill,
  type Throttle,
  THROTTLES,
  WINDOW_STARTS,
  type WindowStart,
} from '#limiter';
import { type Check, Fits, isPlainObject, oneOf, shown } from '../http/field-rules.js';

/** The limiter says what makes a limit; each field shows its own faults. */
const limitField: Check = (_value, object, property) =>
  limitFaults(object as LimitSpec)
    .filter(({ field }) => field === property)
    .map(({ detail }) => ({ at: '', detail: detail.replace(/, got undefined$/, ', got nothing') }));

/** A whole number, for OpenAPI. */
export const bounded = ({ min, max }: { min: number; max: number }, example: number, description: string) =>
  ({ type: 'integer', minimum: min, maximum: max, example, description }) as const;

/** A whole number that a limit must have. */
const NumberField = (...[bounds, example, description]: Parameters<typeof bounded>): PropertyDecorator =>
  applyDecorators(ApiProperty(bounded(bounds, example, description)), Fits(limitField));

/** What every limit has, whatever its algorithm. */
function limitDtoOf<const A extends LimitSpec['algorithm']>(...algorithms: readonly A[]) {
  class AnyLimitDto {
    @ApiProperty({
      type: String,
      maxLength: LIMIT_BOUNDS.name.maxLength,
      pattern: LIMIT_BOUNDS.name.pattern.source,
      example: 'burst',
      description: 'Names the limit in the RateLimit headers; different within the rule',
    })
    @Fits(limitField)
    name: string;

    @ApiProperty({ enum: algorithms, example: algorithms[0] })
    @Fits(oneOf(ALGORITHM_NAMES))
    algorithm: A;

    @ApiPropertyOptional({
      enum: ON_EDITS,
      default: 'as_is',
      description: 'What an edit of the numbers does to the tokens of live buckets',
    })
    @Fits(limitField)
    onEdit: OnEdit = 'as_is';

    @ApiPropertyOptional({
      enum: THROTTLES,
      default: 'hard',
      example: 'soft',
      description: 'soft lets excessPercent of the limit pass above it, and says so; elastic does while the platform has spare capacity',
    })
    @Fits(limitField)
    throttle: Throttle = 'hard';

    @ApiPropertyOptional({
      type: 'integer',
      minimum: LIMIT_BOUNDS.excessPercent.min,
      maximum: LIMIT_BOUNDS.excessPercent.max,
      example: 10,
      description: 'For throttle soft',
    })
    @Fits(limitField)
    excessPercent?: number;
  }
  return AnyLimitDto;
}

/** A limit whose algorithm is none that is known. */
export class LimitDto extends limitDtoOf(...ALGORITHM_NAMES) {}

/** A bucket that refills. */
export class TokenBucketDto extends limitDtoOf('token_bucket') {
  @NumberField(LIMIT_BOUNDS.capacity, 10, 'Tokens the bucket holds: the permitted burst; with 0 nothing passes')
  capacity: number;

  @NumberField(LIMIT_BOUNDS.refillTokens, 5, 'Tokens that come back in each interval')
  refillTokens: number;

  @ApiPropertyOptional(bounded(LIMIT_BOUNDS.refillIntervalMs, 1_000, 'Milliseconds; required unless there is a calendar'))
  @Fits(limitField)
  refillIntervalMs?: number;

  @ApiPropertyOptional({
    enum: REFILLS,
    default: 'greedy',
    example: 'interval',
    description: 'greedy refills continuously, interval in whole steps',
  })
  @Fits(limitField)
  refill: Refill = 'greedy';

  @ApiPropertyOptional({
    enum: ALIGNS,
    example: 'clock',
    description: 'For refill interval. limit (default): intervals count from the start of the limit; clock: from 1970',
  })
  @Fits(limitField)
  align?: Align;

  @ApiPropertyOptional({
    enum: CALENDAR_UNITS,
    description:
      'For refill interval, instead of refillIntervalMs: a step at each start of a minute, hour, day ... in timeZone; weeks begin on Monday. At most 60 steps may fill the bucket, of years 10',
  })
  @Fits(limitField)
  calendar?: CalendarUnit;

  @ApiPropertyOptional({
    type: String,
    description: 'IANA name like Europe/Berlin, for calendar; the time zone of the merchant unless given',
  })
  @Fits(limitField)
  timeZone?: string;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: LIMIT_BOUNDS.initialTokens.min,
    maximum: LIMIT_BOUNDS.initialTokens.max,
    description: 'Level at which the limit starts, if not full; above the capacity it is a launch surplus',
  })
  @Fits(limitField)
  initialTokens?: number;
}

/** The generic cell rate algorithm: decision for decision the greedy token bucket. */
export class GcraDto extends limitDtoOf('gcra') {
  @NumberField(LIMIT_BOUNDS.capacity, 16, 'The burst, and the one request beyond it; with 0 nothing passes')
  capacity: number;

  @NumberField(LIMIT_BOUNDS.refillTokens, 30, 'Requests in each interval, evenly')
  refillTokens: number;

  @NumberField(LIMIT_BOUNDS.refillIntervalMs, 60_000, 'Milliseconds')
  refillIntervalMs: number;
}

/** A bucket that fills with what is admitted and drains at a constant rate. */
export class LeakyBucketDto extends limitDtoOf('leaky_bucket') {
  @NumberField(LIMIT_BOUNDS.capacity, 10, 'What the bucket holds before it overflows; with 0 nothing passes')
  capacity: number;

  @NumberField(LIMIT_BOUNDS.drainTokens, 5, 'What drains in each interval, evenly')
  drainTokens: number;

  @NumberField(LIMIT_BOUNDS.drainIntervalMs, 1_000, 'Milliseconds')
  drainIntervalMs: number;

  @ApiPropertyOptional({
    type: 'object',
    properties: {
      delay: {
        type: 'object',
        properties: { maxWaitMs: bounded(LIMIT_BOUNDS.maxWaitMs, 2_000, 'Who would wait longer is refused') },
        required: ['maxWaitMs'],
      },
    },
    required: ['delay'],
    description: 'As a queue: what is admitted waits its turn, and leaves at the rate of the drain',
  })
  @Fits(limitField)
  onLimit?: { delay: { maxWaitMs: number } };
}

/** Windows that follow one another; up to twice the limit may pass around a boundary. */
export class FixedWindowDto extends limitDtoOf('fixed_window') {
  @NumberField(LIMIT_BOUNDS.limit, 1_000, 'Tokens in a window; with 0 nothing passes')
  limit: number;

  @ApiPropertyOptional(bounded(LIMIT_BOUNDS.windowMs, 60_000, 'Milliseconds; either this or calendar'))
  @Fits(limitField)
  windowMs?: number;

  @ApiPropertyOptional({
    enum: CALENDAR_UNITS,
    description: 'Windows of the calendar, in timeZone; weeks begin on Monday, years on the first of January',
  })
  @Fits(limitField)
  calendar?: CalendarUnit;

  @ApiPropertyOptional({
    type: String,
    description: 'IANA name like Europe/Berlin, for calendar; the time zone of the merchant unless given',
  })
  @Fits(limitField)
  timeZone?: string;

  @ApiPropertyOptional({
    enum: WINDOW_STARTS,
    default: 'clock',
    description: 'clock: windows follow the clock; first_request: the first request after a window opens the next',
  })
  @Fits(limitField)
  start: WindowStart = 'clock';
}

/** Remembers every request of the window: exact, and its memory grows with the limit. */
export class SlidingLogDto extends limitDtoOf('sliding_log') {
  @NumberField(LIMIT_BOUNDS.logLimit, 100, 'Tokens in any window of this length; with 0 nothing passes')
  limit: number;

  @NumberField(LIMIT_BOUNDS.windowMs, 60_000, 'Milliseconds')
  windowMs: number;
}

/** Counts in parts of a window; the part that is leaving counts by how much of it is still inside. */
export class SlidingCounterDto extends limitDtoOf('sliding_counter') {
  @NumberField(LIMIT_BOUNDS.limit, 100, 'Tokens in a window, about; with 0 nothing passes')
  limit: number;

  @NumberField(LIMIT_BOUNDS.windowMs, 60_000, 'Milliseconds')
  windowMs: number;

  @ApiPropertyOptional({ ...bounded(LIMIT_BOUNDS.parts, 6, 'More parts come closer to the sliding log'), default: 1 })
  @Fits(limitField)
  parts: number = 1;
}

/** At most so many requests at once. */
export class ConcurrencyDto extends limitDtoOf('concurrency') {
  @NumberField(LIMIT_BOUNDS.slots, 10, 'Requests in flight; a slot is freed at the end of the response; with 0 nothing passes')
  limit: number;

  @NumberField(
    LIMIT_BOUNDS.slotTimeoutMs,
    30_000,
    'Milliseconds after which a slot is free again, in case a gateway has died; more than a response takes',
  )
  slotTimeoutMs: number;
}

const DTOS = {
  token_bucket: TokenBucketDto,
  gcra: GcraDto,
  leaky_bucket: LeakyBucketDto,
  fixed_window: FixedWindowDto,
  sliding_log: SlidingLogDto,
  sliding_counter: SlidingCounterDto,
  concurrency: ConcurrencyDto,
} satisfies Record<LimitSpec['algorithm'], unknown>;

export const LIMIT_DTOS = Object.values(DTOS);

/**
 * Makes each limit of a list the DTO of its algorithm. Of one whose algorithm is not known, only what every limit has is
 * looked at: what else it may hold nobody can say. What is no object stays as it is, for the checks to name.
 */
export function limitDtos(value: unknown): unknown {
  return Array.isArray(value) ? value.map((item: unknown) => (isPlainObject(item) ? limitDto(item as Partial<LimitDto>) : item)) : value;
}

function limitDto(item: Partial<LimitDto>): object {
  const dto = Object.hasOwn(DTOS, String(item.algorithm)) ? DTOS[item.algorithm!] : undefined;
  if (dto) return plainToInstance<object, object>(dto, item);
  const { name, algorithm } = item;
  return plainToInstance(LimitDto, { name, algorithm });
}

/** For OpenAPI. */
export const LIMIT_SCHEMA = {
  oneOf: LIMIT_DTOS.map((dto) => ({ $ref: getSchemaPath(dto) })),
  discriminator: {
    propertyName: 'algorithm',
    mapping: Object.fromEntries(Object.entries(DTOS).map(([name, dto]) => [name, getSchemaPath(dto)])),
  },
};

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
export function limitSpec(limit: LimitSpec | LimitDto): LimitSpec {
  const fields = ['name', 'algorithm', ...fieldsOf(limit.algorithm), 'onEdit', 'throttle', 'excessPercent'];
  const values = limit as unknown as Record<string, unknown>;
  return Object.fromEntries(
    fields.flatMap((field) => (values[field] === undefined ? [] : [[field, values[field]]])),
  ) as unknown as LimitSpec;
}
