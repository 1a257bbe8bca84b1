/**
 * A limit is one bound of a rule: an algorithm and its numbers. `LimitSpec` is what an administrator writes;
 * `Limit` is the same with the identity and history that keep its live buckets honest across edits.
 */

/** A leap year. */
const YEAR_MS = 366 * 86_400_000;

export const LIMIT_BOUNDS = {
  /** 0 is a limit for nobody: nothing passes, ever. */
  capacity: { min: 0, max: 1_000_000_000 },
  refillTokens: { min: 1, max: 1_000_000_000 },
  /** One millisecond to a leap year. */
  refillIntervalMs: { min: 1, max: YEAR_MS },
  /** Steps of the calendar in which an empty bucket fills: a decision may have to know all of them. Of years, those within `timeToFullMs`. */
  calendarSteps: { max: 60, maxOfYears: 10 },
  initialTokens: { min: 0, max: 1_000_000_000 },
  drainTokens: { min: 1, max: 1_000_000_000 },
  drainIntervalMs: { min: 1, max: YEAR_MS },
  limit: { min: 0, max: 1_000_000_000 },
  windowMs: { min: 1, max: YEAR_MS },
  parts: { min: 1, max: 60 },
  /** A day: a request that takes longer is none that a gateway waits for. */
  slotTimeoutMs: { min: 1, max: 86_400_000 },
  /** No client waits longer for the first byte of an answer. */
  maxWaitMs: { min: 1, max: 30_000 },
  excessPercent: { min: 1, max: 100 },
  /** Every slot is kept, twenty-four bytes each, and moved with every take. */
  slots: { min: 0, max: 1_000 },
  /** The log keeps every request of the window, sixteen bytes each, and moves them with every take. */
  logLimit: { min: 0, max: 1_000 },
  /** A refill is never faster than this: Redis' clock counts microseconds. */
  tokensPerSecond: { max: 1_000_000 },
  /** Ten years: a bucket that takes longer to fill never tells the truth in anyone's lifetime of the rule. */
  timeToFullMs: { max: 10 * 365 * 86_400_000 },
  name: { maxLength: 64, pattern: /^[A-Za-z0-9](?:[A-Za-z0-9 ._-]*[A-Za-z0-9])?$/ },
} as const;

export const REFILLS = ['greedy', 'interval'] as const;
export type Refill = (typeof REFILLS)[number];

export const ALIGNS = ['limit', 'clock'] as const;
export type Align = (typeof ALIGNS)[number];

export const WINDOW_STARTS = ['clock', 'first_request'] as const;
export type WindowStart = (typeof WINDOW_STARTS)[number];

export const CALENDAR_UNITS = ['minute', 'hour', 'day', 'week', 'month', 'year'] as const;
export type CalendarUnit = (typeof CALENDAR_UNITS)[number];

/**
 * What an edit of the numbers does to the tokens of live buckets. `as_is` keeps them, as far as they fit; `proportional` keeps
 * their share of the capacity; `reset` fills up; `additive` gives what the capacity has grown by on top.
 */
export const ON_EDITS = ['as_is', 'proportional', 'reset', 'additive'] as const;
export type OnEdit = (typeof ON_EDITS)[number];

/**
 * `hard` refuses what is over the limit; `soft` lets some of it pass, `excessPercent` of the limit, and says so; `elastic` lets it
 * pass while the platform has spare capacity, says so, and is hard otherwise.
 */
export const THROTTLES = ['hard', 'soft', 'elastic'] as const;
export type Throttle = (typeof THROTTLES)[number];

interface AnyLimitSpec {
  readonly name: string;
  /** `as_is` unless given. */
  readonly onEdit?: OnEdit;
  /** `hard` unless given. */
  readonly throttle?: Throttle;
  /** For `soft`: how much may pass above the limit, in percent of it. */
  readonly excessPercent?: number;
}

export interface TokenBucketSpec extends AnyLimitSpec {
  readonly algorithm: 'token_bucket';
  /** Tokens the bucket holds: the permitted burst. Whole; with 0 nothing passes. */
  readonly capacity: number;
  /** Tokens that come back in each interval. Whole, >= 1. */
  readonly refillTokens: number;
  /** Either this or `calendar`. */
  readonly refillIntervalMs?: number;
  /** `greedy` refills continuously, `interval` in whole steps. */
  readonly refill: Refill;
  /** For steps: `limit`, unless given, counts intervals from the start of the limit; `clock` from 1970. */
  readonly align?: Align;
  /** For steps: one at the start of each minute, hour, day ... of the calendar. */
  readonly calendar?: CalendarUnit;
  /** IANA name, for `calendar`; the merchant's unless given. Weeks begin on Monday. */
  readonly timeZone?: string;
  /** Level at which the limit starts, if not full. Above capacity it is a launch surplus that drains at the refill rate. */
  readonly initialTokens?: number;
}

/** The generic cell rate algorithm (ITU-T I.371, ATM Forum TM 4.0): decision for decision the greedy token bucket. */
export interface GcraSpec extends AnyLimitSpec {
  readonly algorithm: 'gcra';
  /** The burst and the one request beyond it. */
  readonly capacity: number;
  readonly refillTokens: number;
  readonly refillIntervalMs: number;
}

/**
 * The leaky bucket (Turner 1986): what was admitted fills it, and it drains at a constant rate. As a meter it refuses what would
 * overflow; as a queue, where `onLimit` says to delay, what is admitted waits its turn, so that it leaves at that rate.
 */
export interface LeakyBucketSpec extends AnyLimitSpec {
  readonly algorithm: 'leaky_bucket';
  readonly capacity: number;
  readonly drainTokens: number;
  readonly drainIntervalMs: number;
  readonly onLimit?: { readonly delay: { readonly maxWaitMs: number } };
}

/** Counts in windows that follow one another. Up to twice the limit may pass around a boundary. */
export interface FixedWindowSpec extends AnyLimitSpec {
  readonly algorithm: 'fixed_window';
  readonly limit: number;
  /** Either this, counted from 1970, or `calendar`. */
  readonly windowMs?: number;
  readonly calendar?: CalendarUnit;
  /** IANA name, for `calendar`; the merchant's unless given. Weeks begin on Monday. */
  readonly timeZone?: string;
  /** `clock`: windows follow the clock. `first_request`: the first request after a window opens the next. */
  readonly start: WindowStart;
}

/** Remembers every request of the last `windowMs`. Exact; its memory grows with the limit. */
export interface SlidingLogSpec extends AnyLimitSpec {
  readonly algorithm: 'sliding_log';
  readonly limit: number;
  readonly windowMs: number;
}

/** Counts in parts of a window; the oldest part counts by how much of it is still inside. One part: the classic pair. */
export interface SlidingCounterSpec extends AnyLimitSpec {
  readonly algorithm: 'sliding_counter';
  readonly limit: number;
  readonly windowMs: number;
  readonly parts: number;
}

/** At most so many at once: a slot is held until the end of the response, or until its time is over. */
export interface ConcurrencySpec extends AnyLimitSpec {
  readonly algorithm: 'concurrency';
  readonly limit: number;
  /** After this long a slot is free again, whether or not it was released. */
  readonly slotTimeoutMs: number;
}

export type LimitSpec =
  TokenBucketSpec | GcraSpec | LeakyBucketSpec | FixedWindowSpec | SlidingLogSpec | SlidingCounterSpec | ConcurrencySpec;
export type AlgorithmName = LimitSpec['algorithm'];

type Numbers<Spec> = Spec extends LimitSpec ? Omit<Spec, 'name' | 'initialTokens' | 'onEdit' | 'onLimit'> : never;

/** What decides how a bucket is written: an edit of any of it begins a new generation. */
export type LimitNumbers = Numbers<LimitSpec>;

export function numbersOf({ name: _name, onEdit: _onEdit, ...numbers }: LimitSpec): LimitNumbers {
  const {
    initialTokens: _initialTokens,
    onLimit: _onLimit,
    align,
    ...lasting
  } = numbers as typeof numbers & { initialTokens?: unknown; onLimit?: unknown; align?: Align };
  // `limit` is what no word of it says as well.
  return align === 'clock' ? ({ ...lasting, align } as LimitNumbers) : lasting;
}

/** What a soft limit lets pass above it. */
export function excessOf(numbers: LimitNumbers | LimitSpec): number {
  return numbers.throttle === 'soft' ? Math.floor((capacityOf(numbers) * (numbers.excessPercent ?? 0)) / 100) : 0;
}

/** The limit as it is written: what can be taken at once, without the excess of a soft one. */
export function capacityOf(numbers: LimitNumbers | LimitSpec): number {
  return 'capacity' in numbers ? numbers.capacity : numbers.limit;
}

/** The numbers that a live bucket may still have been written with, before an edit. */
export type PastLimit = LimitNumbers & {
  readonly onEdit?: OnEdit;
  readonly generation: number;
  readonly since: LimitStart;
};

/** A bucket that is missing from a store is one left alone since its limit started: this is the level it started at. */
export interface LimitStart {
  readonly atMs: number;
  /** Whole tokens, rounded down. */
  readonly tokens: number;
  /** What an edit found beyond them, in parts of a token: 0 < part < of. */
  readonly fraction?: { readonly part: number; readonly of: number };
}

export type Limit = LimitSpec & {
  /** Stable within the rule: survives renaming and reordering, is never given to another limit of the same rule. */
  readonly id: number;
  /** Counts the edits of the numbers. Buckets carry it, so that one written under other numbers is recognised. */
  readonly generation: number;
  readonly since: LimitStart;
  /** Former generations, the newest first; as many as live buckets can still carry. */
  readonly previous: readonly PastLimit[];
};

/** Whether it follows the calendar, and names no time zone of its own: then it goes by the merchant's. */
export function followsMerchant(limit: Limit | PastLimit): boolean {
  return 'calendar' in limit && limit.calendar !== undefined && limit.timeZone === undefined;
}

export interface LimitFault {
  readonly field: LimitField;
  readonly detail: string;
  /** For a number that is no limit's: the one next to it that is. */
  readonly nearest?: number;
}

type KeysOf<Spec> = Spec extends LimitSpec ? keyof Spec : never;
export type LimitField = KeysOf<LimitSpec>;

/** Thrown where a limit would be built from numbers that make no bucket. Names every wrong field. */
export class InvalidLimitError extends Error {
  constructor(readonly faults: readonly LimitFault[]) {
    super(faults.map((fault) => `${fault.field}: ${fault.detail}`).join('; '));
    this.name = 'InvalidLimitError';
  }
}
