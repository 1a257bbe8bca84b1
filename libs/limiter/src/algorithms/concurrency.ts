import type { Algorithm } from './algorithm.js';
import { windowAllows, windowDecision, type WindowLevel } from './window-decision.js';

/**
 * At most so many at once. A request that passes holds a slot until it is released, or until the slot's time is over, in case
 * whoever held it has died.
 */
export interface ConcurrencyState {
  readonly slots: readonly Slot[];
}

export interface Slot {
  /** Names the request that holds it. */
  readonly id: number;
  readonly untilUs: number;
  /** What the request cost: it may hold more than one place. */
  readonly weight: number;
}

export interface ConcurrencyBucket {
  readonly kind: 'concurrency';
  readonly limit: number;
  readonly slotTimeoutUs: number;
  readonly start: ConcurrencyState;
}

function alive({ slots }: ConcurrencyState, nowUs: number): readonly Slot[] {
  return slots.filter(({ untilUs }) => untilUs > nowUs);
}

const weightOf = (slots: readonly Slot[]): number => slots.reduce((sum, { weight }) => sum + weight, 0);

/** Microseconds until enough slots have timed out for `cost` to fit; nobody knows when they are released. */
function timedOutUs(slots: readonly Slot[], limit: number, cost: number, nowUs: number): number {
  let used = weightOf(slots);
  for (const { untilUs, weight } of [...slots].sort((a, b) => a.untilUs - b.untilUs)) {
    used -= weight;
    if (used + cost <= limit) return untilUs - nowUs;
  }
  return 0;
}

export const concurrency: Algorithm<ConcurrencyBucket, ConcurrencyState, WindowLevel> = {
  level({ limit, slotTimeoutUs }, state, nowUs, cost) {
    const slots = alive(state, nowUs);
    const used = weightOf(slots);
    const resetUs = Math.max(0, ...slots.map(({ untilUs }) => untilUs - nowUs));
    return {
      used,
      retryUs: used + cost <= limit ? 0 : timedOutUs(slots, limit, cost, nowUs),
      resetUs,
      resetAfterTakingUs: Math.max(resetUs, slotTimeoutUs),
    };
  },
  allows: windowAllows,
  after({ slotTimeoutUs }, state, _level, cost, nowUs, id) {
    return { slots: [...alive(state, nowUs), { id, untilUs: nowUs + slotTimeoutUs, weight: cost }] };
  },
  decide: windowDecision,
  refunded: (_bucket, state, { slot }) => released(state, slot),
  available: ({ limit }, state, nowUs) => limit - weightOf(alive(state, nowUs)),
  /** Tokens of another algorithm are no slots: nobody holds one yet. */
  stateWith: () => ({ slots: [] }),
  keep: (state) => state,
};

/** Without the slot of one request; the same state if it has none. */
export function released(state: ConcurrencyState, id: number): ConcurrencyState {
  const slots = state.slots.filter((slot) => slot.id !== id);
  return slots.length === state.slots.length ? state : { slots };
}
