import type { Decision } from '../buckets/decision.js';
import { ceilMs } from './exact-span.js';

/** What the algorithms that count requests in windows know of a bucket at an instant. Microseconds are whole. */
export interface WindowLevel {
  /** Tokens that count against the limit, rounded up where they are estimated. */
  readonly used: number;
  /** Until the cost that was asked would pass, if nothing else is taken; 0 where it passes. */
  readonly retryUs: number;
  /** Until nothing counts any more: as it is, and after the request if it passes. */
  readonly resetUs: number;
  readonly resetAfterTakingUs: number;
}

export function windowAllows({ capacity }: { readonly capacity: number }, { used }: WindowLevel, cost: number): boolean {
  return used + cost <= capacity;
}

/** What leaves a window meanwhile is not known; until when it has to leave is. */
export function windowLater(_bucket: object, { used, retryUs, resetUs, resetAfterTakingUs }: WindowLevel, us: number): WindowLevel {
  return { used, retryUs: Math.max(0, retryUs - us), resetUs: Math.max(0, resetUs - us), resetAfterTakingUs };
}

/** How many tokens an operator takes of those that are asked for: as many as are left. */
export function takable({ capacity }: { readonly capacity: number }, used: number, tokens: number): number {
  return Math.min(tokens, Math.max(0, capacity - used));
}

export function windowDecision({ capacity }: { readonly capacity: number }, level: WindowLevel, cost: number, taken: boolean): Decision {
  const { used, retryUs, resetUs, resetAfterTakingUs } = level;
  const allowed = used + cost <= capacity;
  return {
    allowed,
    limit: capacity,
    remaining: Math.max(0, capacity - used - (taken ? cost : 0)),
    retryAfterMs: allowed ? 0 : cost > capacity ? 'never' : ceilMs(retryUs, 0),
    resetAfterMs: ceilMs(taken && cost > 0 ? resetAfterTakingUs : resetUs, 0),
  };
}
