import type { Bound } from '../bound.js';

/**
 * A token bucket that can be made to pay: who hears late of what others have spent debits it after the fact, down below
 * nothing. The limiter's own bucket never does that; it decides before tokens are spent.
 */
export class DebtBucket {
  private tokens: number;
  private lastMs = 0;
  private readonly capacity: number;
  private readonly tokensPerMs: number;

  constructor({ limit, windowMs }: Bound) {
    this.capacity = limit;
    this.tokens = limit;
    this.tokensPerMs = limit / windowMs;
  }

  /** Tokens at an instant; negative in debt. Time does not run backwards here. */
  level(nowMs: number): number {
    this.tokens = Math.min(this.capacity, this.tokens + (nowMs - this.lastMs) * this.tokensPerMs);
    this.lastMs = nowMs;
    return this.tokens;
  }

  holds(cost: number, nowMs: number): boolean {
    return this.level(nowMs) >= cost - ROUNDING;
  }

  /** How long until it holds so many tokens. */
  waitMs(tokens: number, nowMs: number): number {
    return this.holds(tokens, nowMs) ? 0 : (tokens - this.level(nowMs)) / this.tokensPerMs;
  }

  spend(cost: number, nowMs: number): void {
    this.tokens = this.level(nowMs) - cost;
  }
}

/** Tokens. Sums of doubles are off by less than this in any run that ends. */
const ROUNDING = 1e-6;
