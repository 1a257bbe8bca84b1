import { calendarWindows, type Decision, type TokenBucketSpec, type Windows } from '../src/index.js';

/**
 * The token bucket once more, as plainly as it can be said: whole numbers of any size, tokens counted in fractions of
 * `scale`, no shortcut. Slow, and therefore easy to believe; the real one is compared with it.
 */
export class ModelBucket {
  private readonly scale: bigint;
  private readonly capacity: bigint;
  private readonly gain: bigint;
  private tokens: bigint;
  /** Until when refills are counted: now, or the last step. */
  private lastUs: bigint;
  /** How far into an interval the last refill was. */
  private sinceUs = 0n;

  /** Of steps of the calendar. */
  private readonly windows: Windows | undefined;

  constructor(
    private readonly spec: TokenBucketSpec,
    startUs: number,
  ) {
    // One microsecond refills refillTokens / intervalUs tokens: counted in 1 / intervalUs tokens, that is whole.
    this.scale = BigInt(spec.refillIntervalMs ?? 1) * 1000n;
    this.windows = spec.calendar && calendarWindows(spec.calendar, spec.timeZone ?? 'Etc/UTC');
    this.gain = BigInt(spec.refillTokens);
    this.capacity = BigInt(spec.capacity) * this.scale;
    this.tokens = BigInt(spec.initialTokens ?? spec.capacity) * this.scale;
    // Steps of the clock are counted from 1970.
    this.lastUs = spec.align === 'clock' ? (BigInt(startUs) / this.scale) * this.scale : BigInt(startUs);
  }

  /** @param withheld tokens that the request has to leave to others */
  take(cost: number, nowUs: number, withheld = 0): Decision {
    this.refillTo(BigInt(nowUs));
    const price = BigInt(cost) * this.scale;
    const needed = cost === 0 ? 0n : BigInt(cost + withheld) * this.scale;
    const allowed = needed <= this.tokens;
    const retryAfterMs = allowed ? 0 : needed > this.capacity ? 'never' : this.msUntil(needed);
    if (allowed) this.tokens -= price;
    const decision: Decision = {
      allowed,
      limit: this.spec.capacity,
      remaining: Math.max(0, Number(this.tokens / this.scale) - withheld),
      retryAfterMs,
      resetAfterMs: this.tokens >= this.capacity ? 0 : this.msUntil(this.capacity),
      ...(withheld > 0 && { withheld }),
    };
    return this.windows === undefined || this.tokens >= this.capacity
      ? decision
      : { ...decision, nextStepMs: this.msUntil(max(this.tokens + 1n, BigInt(withheld) * this.scale + 1n)) };
  }

  private refillTo(nowUs: bigint): void {
    if (this.windows !== undefined) {
      for (let stepUs = this.nextStep(this.lastUs); stepUs <= nowUs && this.tokens !== this.capacity; stepUs = this.nextStep(stepUs)) {
        this.tokens = min(this.capacity, this.tokens + this.gain * this.scale);
      }
      this.lastUs = nowUs;
      return;
    }
    if (this.spec.refill === 'interval') {
      const steps = (nowUs - this.lastUs) / this.scale;
      if (steps > 0n) this.tokens = min(this.capacity, this.tokens + steps * this.gain * this.scale);
      this.lastUs += steps * this.scale;
      this.sinceUs = nowUs - this.lastUs;
      return;
    }
    const change = (nowUs - this.lastUs) * this.gain;
    this.tokens = this.tokens > this.capacity ? max(this.capacity, this.tokens - change) : min(this.capacity, this.tokens + change);
    this.lastUs = nowUs;
  }

  /** The step of the calendar after an instant. */
  private nextStep(atUs: bigint): bigint {
    return BigInt(this.windows!.around(Number(atUs)).endUs);
  }

  private msUntil(tokens: bigint): number {
    const missing = tokens - this.tokens;
    if (this.windows !== undefined) {
      let stepUs = this.lastUs;
      for (let held = 0n; held < missing; held += this.gain * this.scale) stepUs = this.nextStep(stepUs);
      return Number(ceilDiv(stepUs - this.lastUs, 1000n));
    }
    if (this.spec.refill === 'interval') {
      const steps = ceilDiv(missing, this.gain * this.scale);
      return Number(ceilDiv(steps * this.scale - this.sinceUs, 1000n));
    }
    return Number(ceilDiv(ceilDiv(missing, this.gain), 1000n));
  }
}

const min = (a: bigint, b: bigint) => (a < b ? a : b);
const max = (a: bigint, b: bigint) => (a > b ? a : b);
const ceilDiv = (a: bigint, b: bigint) => (a + b - 1n) / b;
