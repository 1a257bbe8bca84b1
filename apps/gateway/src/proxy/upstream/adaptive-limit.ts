export interface AdaptiveLimitOptions {
  readonly initial: number;
  readonly min: number;
  readonly max: number;
}

/** The parameters of Gradient2, as concurrency-limits has them, but for a shorter window. */
const WINDOW_MS = 250;
const LEAST_SAMPLES = 10;
const SMOOTHING = 0.2;
/** The latency may be so many times the usual one before the limit falls. */
const TOLERANCE = 1.5;
/** The usual latency is an average of ten minutes. */
const LONG_WINDOWS = 2400;
/** What is left of the limit after a window in which the upstream failed too often, as in AIMD there. */
const BACKOFF = 0.9;
/** Of so many requests, one that fails is too often. */
const FAILS_ONE_IN = 10;
/** A window that has few samples by then is thrown away: they say nothing about now. */
const STALE_MS = 10_000;

/**
 * How many requests an upstream can have at once without queueing, found out by its latency: Gradient2 of Netflix' concurrency-limits
 * (github.com/Netflix/concurrency-limits, limit/Gradient2Limit.java, with WindowedLimit). Each window compares its latency with the usual one. While it is longer by
 * more than the tolerance the limit falls in proportion, otherwise it grows by its square root, smoothed.
 *
 * Three differences. The latency of a window is its median, so that a minority of slow requests does not move it. The limit does not grow while less than half of it
 * is used, as there, unless somebody was turned away: merchants that have their share each may leave more than half of it free. And it falls also where failures
 * say what latency does not.
 *
 * Pure: time is an argument.
 */
export class AdaptiveLimit {
  private estimate: number;
  private readonly usual = new MovingAverage(LONG_WINDOWS, LEAST_SAMPLES);
  private readonly latencies = new Samples();
  private failures = 0;
  private mostInFlight = 0;
  private isFelt = false;
  /** When the first sample of the window was there; undefined before. */
  private beganAtMs: number | undefined;

  constructor(private readonly options: AdaptiveLimitOptions) {
    this.estimate = options.initial;
  }

  /** Whole requests. */
  get limit(): number {
    return Math.floor(this.estimate);
  }

  /** @param inFlight requests that the upstream had, this one included */
  answered(tookMs: number, inFlight: number): void {
    this.latencies.add(tookMs);
    if (inFlight > this.mostInFlight) this.mostInFlight = inFlight;
  }

  /** The upstream was too slow, could not be reached, or said that it has too much to do. */
  failed(): void {
    this.failures++;
  }

  /** A request was there for which the limit had no room. */
  turnedAway(): void {
    this.isFelt = true;
  }

  /** To be called several times in a window. @param nowMs of a clock that is never set */
  tick(nowMs: number): void {
    const asked = this.latencies.seen + this.failures;
    if (asked === 0) return;
    this.beganAtMs ??= nowMs;
    const ageMs = nowMs - this.beganAtMs;
    if (ageMs < WINDOW_MS) return;
    if (asked >= LEAST_SAMPLES) this.estimate = this.bounded(this.next());
    else if (ageMs < STALE_MS) return;
    this.latencies.clear();
    this.failures = 0;
    this.mostInFlight = 0;
    this.isFelt = false;
    this.beganAtMs = undefined;
  }

  private next(): number {
    const { estimate, failures, latencies } = this;
    if (failures * FAILS_ONE_IN > latencies.seen + failures) return estimate * BACKOFF;
    // Faster than a tenth of a millisecond is not told apart.
    const shortMs = Math.max(0.1, latencies.median);
    const longMs = this.usual.add(shortMs);
    // It was slower for long, and is not any more: forget that sooner.
    if (longMs / shortMs > 2) this.usual.scale(0.95);
    const gradient = Math.max(0.5, Math.min(1, (TOLERANCE * longMs) / shortMs));
    const target = estimate * gradient + Math.sqrt(estimate);
    const next = estimate * (1 - SMOOTHING) + target * SMOOTHING;
    const isUsed = this.isFelt || this.mostInFlight >= estimate / 2;
    return next > estimate && !isUsed ? estimate : next;
  }

  private bounded(estimate: number): number {
    const { min, max } = this.options;
    return Math.max(min, Math.min(max, estimate));
  }
}

/** Exponential, but for a plain one over the first values. */
class MovingAverage {
  private value = 0;
  private count = 0;

  constructor(
    private readonly window: number,
    private readonly warmUp: number,
  ) {}

  add(value: number): number {
    this.count++;
    const factor = this.count <= this.warmUp ? 1 / this.count : 2 / (this.window + 1);
    this.value += (value - this.value) * factor;
    return this.value;
  }

  scale(factor: number): void {
    this.value *= factor;
  }
}

const MOST_KEPT = 256;

/** Values of a window, spread over all of it: when there are too many, every second one of those that are kept goes. */
class Samples {
  seen = 0;
  private kept = 0;
  private stride = 1;
  private readonly values = new Float64Array(MOST_KEPT);

  add(value: number): void {
    if (this.seen++ % this.stride !== 0) return;
    if (this.kept === MOST_KEPT) {
      for (let i = 0; i < MOST_KEPT / 2; i++) this.values[i] = this.values[2 * i]!;
      this.kept = MOST_KEPT / 2;
      this.stride *= 2;
    }
    this.values[this.kept++] = value;
  }

  get median(): number {
    const sorted = this.values.slice(0, this.kept).sort();
    return sorted[Math.floor(sorted.length / 2)] ?? 0;
  }

  clear(): void {
    this.seen = 0;
    this.kept = 0;
    this.stride = 1;
  }
}
