/**
 * A limit is one bound of a rule: an algorithm and its numbers. `LimitSpec` is what an administrator writes;
 * `Limit` is the same with the identity and history that keep its live buckets honest across edits.
 */
import type { Align } from '../algorithms/token-bucket/fields.js';
import type { OnEdit } from '../fields/common-fields.js';
import type { LimitSpec } from './limit-fields.js';

export { MAX_TIME_TO_FULL_MS } from '../algorithms/rate-faults.js';
export { WINDOW_STARTS } from '../algorithms/fixed-window/fields.js';
export { MAX_WAIT_MS } from '../algorithms/leaky-bucket.js';
export { ALIGNS, type TokenBucketSpec } from '../algorithms/token-bucket/fields.js';
export { CALENDAR_UNITS, ON_EDITS, THROTTLES, type CalendarUnit, type OnEdit, type Throttle } from '../fields/common-fields.js';
export { ALGORITHM_NAMES, fieldsOf, LIMIT, type AlgorithmName, type LimitField, type LimitSpec } from './limit-fields.js';

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
  /** Only where an override has begun: see override.ts. Never stored. */
  readonly inForce?: InForce;
};

/** When numbers hold whose end or beginning is known beforehand. By the clock of the store. */
export interface InForce {
  /** From when on, unless a bucket has them already. */
  readonly fromMs?: number;
  readonly untilMs?: number;
  /** With `untilMs`: how long a bucket takes at most to fill by the numbers that come after it. */
  readonly fillsAfterMs?: number;
}

/** Whether it follows the calendar, and names no time zone of its own: then it goes by the merchant's. */
export function followsMerchant(limit: Limit | PastLimit): boolean {
  return 'calendar' in limit && limit.calendar !== undefined && limit.timeZone === undefined;
}
