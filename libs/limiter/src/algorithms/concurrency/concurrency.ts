import type { ConcurrencySpec } from '../../limit.js';
import type { BucketAlgorithm, LimitAlgorithm } from '../algorithm.js';
import { wholeAmount } from '../amount.js';
import { windowAllows, windowDecision, windowLater, type WindowLevel } from '../window-level.js';

/**
 * At most so many at once. A request that passes holds a slot until it is released, or until the slot's time is over, in case
 * whoever held it has died.
 */
export interface ConcurrencyState {
  readonly slots: readonly Slot[];
}

export interface Slot {
  /** Names the request that holds it. */
  readonly holder: number;
  readonly untilUs: number;
  /** What the request cost: it may hold more than one place. */
  readonly weight: number;
}

export interface ConcurrencyBucket {
  readonly kind: 'concurrency';
  readonly capacity: number;
  readonly slotTimeoutUs: number;
  readonly start: ConcurrencyState;
}

/** No slot is held for longer than a slot may be, because the clock stepped back, or because the time was longer before an edit. */
function clamped({ slotTimeoutUs }: ConcurrencyBucket, state: ConcurrencyState, nowUs: number): ConcurrencyState {
  const latestUs = nowUs + slotTimeoutUs;
  if (state.slots.every(({ untilUs }) => untilUs <= latestUs)) return state;
  return { slots: state.slots.map((slot) => (slot.untilUs > latestUs ? { ...slot, untilUs: latestUs } : slot)) };
}

function alive({ slots }: ConcurrencyState, nowUs: number): readonly Slot[] {
  return slots.filter(({ untilUs }) => untilUs > nowUs);
}

/** No request has this name. */
const NOBODY = -1;

const weightOf = (slots: readonly Slot[]): number => slots.reduce((sum, { weight }) => sum + weight, 0);

/** Microseconds until enough slots have timed out for `cost` to fit; nobody knows when they are released. */
function timedOutUs(slots: readonly Slot[], capacity: number, cost: number, nowUs: number): number {
  let used = weightOf(slots);
  for (const { untilUs, weight } of [...slots].sort((a, b) => a.untilUs - b.untilUs)) {
    used -= weight;
    if (used + cost <= capacity) return untilUs - nowUs;
  }
  return 0;
}

export const concurrencyBuckets: BucketAlgorithm<ConcurrencyBucket, ConcurrencyState, WindowLevel> = {
  clamped,
  level({ capacity, slotTimeoutUs }, state, nowUs, cost) {
    const slots = alive(state, nowUs);
    const used = weightOf(slots);
    const resetUs = Math.max(0, ...slots.map(({ untilUs }) => untilUs - nowUs));
    return {
      used,
      retryUs: used + cost <= capacity ? 0 : timedOutUs(slots, capacity, cost, nowUs),
      resetUs,
      resetAfterTakingUs: Math.max(resetUs, slotTimeoutUs),
    };
  },
  allows: windowAllows,
  after({ slotTimeoutUs }, state, _level, cost, nowUs, holder) {
    return { slots: [...alive(state, nowUs), { holder, untilUs: nowUs + slotTimeoutUs, weight: cost }] };
  },
  decide: windowDecision,
  later: windowLater,
  refunded: (_bucket, state, { holder }) => released(state, holder),
  missing: (_bucket, state, atUs) => wholeAmount(weightOf(alive(state, atUs))),
  /** Tokens of another algorithm are no slots: nobody holds one yet. */
  stateMissing: () => ({ slots: [] }),
  exhausted: ({ capacity, slotTimeoutUs }, atUs) => ({ slots: [{ holder: NOBODY, untilUs: atUs + slotTimeoutUs, weight: capacity }] }),
  keep: (state) => state,
};

/** Without the slot of one request; the same state if it has none. */
export function released(state: ConcurrencyState, holder: number): ConcurrencyState {
  const slots = state.slots.filter((slot) => slot.holder !== holder);
  return slots.length === state.slots.length ? state : { slots };
}

/** Promises at most the limit at the same time; of how many pass in the course of time it says nothing. */
export const concurrency: LimitAlgorithm<Omit<ConcurrencySpec, 'name'>, ConcurrencyBucket> = {
  bucketOf: ({ slotTimeoutMs }, { capacity }) => ({
    kind: 'concurrency',
    capacity,
    slotTimeoutUs: slotTimeoutMs * 1000,
    start: { slots: [] },
  }),
  quotaWindowMs: ({ slotTimeoutMs }) => slotTimeoutMs,
};
