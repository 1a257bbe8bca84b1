import { penalizedLevel, type PenaltyBucket, type PenaltyLevel } from '../algorithms/penalty/penalty.js';
import { isBlocked } from '../buckets/block.js';
import { allows, decide, levelLater, neededFor, type Bucket, type BucketLevel } from '../buckets/bucket.js';
import { isPenaltyTake, isProvoked, type PenaltyTake, type TakeRequest } from '../buckets/take.js';

export interface RefusalMemoryOptions {
  /** A refusal is remembered for as long as it says, and no longer than this: by then everything is known that was done elsewhere. */
  readonly longestMs?: number;
  /** When it is full, what was remembered first is forgotten. */
  readonly maxBytes?: number;
}

/** What a bucket held when a request was refused, by it or by another one. */
class Found {
  constructor(
    readonly bucket: Bucket,
    /** What the request needed to be there: so much, or more, is refused. */
    readonly needed: number,
    public level: BucketLevel,
    readonly atMs: number,
    /** Until then the bucket refuses whoever needs as much. */
    readonly refusesUntilMs: number,
    readonly staleAtMs: number,
  ) {}
}

/** Tokens were given back: what was asked before then is not worth remembering. */
class GivenBack {
  constructor(readonly untilMs: number) {}
}

/** Of an entry besides its key: the place in the map, the object, its numbers, a level. Measured, and rounded up. */
const BYTES_OF_ENTRY = 400;
/** In this time what was given back has arrived in the store. */
const GIVING_BACK_TAKES_MS = 50;

/**
 * Remembers what a store has refused. A refusal says how long nothing can change, so until then the same is refused without asking: for as much or
 * more, as long as the limit is the same one (and of a limit that keeps something for some, also for all others), and not where something may change at any time (slots of a concurrency limit that others
 * release, an elastic limit). What is not certain is asked.
 *
 * Times are of a clock that is never set, in milliseconds. A refusal counts from when it was asked for, so it never lasts longer than the bucket's.
 */
export class RefusalMemory {
  private readonly entries = new Map<string, Found | GivenBack>();
  private readonly longestMs: number;
  private readonly maxBytes: number;
  private usedBytes = 0;

  constructor({ longestMs = 1000, maxBytes = 16 * 2 ** 20 }: RefusalMemoryOptions = {}) {
    this.longestMs = longestMs;
    this.maxBytes = maxBytes;
  }

  /** What it takes, by and large. */
  get bytes(): number {
    return this.usedBytes;
  }

  get size(): number {
    return this.entries.size;
  }

  /** Whether anything is known of a bucket. */
  has(key: string): boolean {
    return this.entries.has(key);
  }

  /**
   * What the buckets of a request hold, if one of them is known to refuse it; undefined if the store has to be asked. A refusal that a penalty
   * counts is counted here, and `provoked` is told of it; the one with which a block begins is not answered, because the store begins it.
   */
  recall(request: TakeRequest, nowMs: number, provoked: (take: PenaltyTake) => void): readonly BucketLevel[] | undefined {
    if (this.entries.size === 0) return undefined;
    const { takes } = request;
    let refuses = false;
    let uncertain = false;
    let counts = false;
    for (const { key, bucket, cost } of takes) {
      const found = this.entries.get(key);
      if (!(found instanceof Found) || !concerns(found, bucket) || nowMs >= found.staleAtMs) return undefined;
      const needed = neededFor(bucket, cost);
      if (needed < found.needed) return undefined;
      if (nowMs < found.refusesUntilMs) refuses = true;
      else if (!knowsLater(found, bucket, cost)) {
        if (!mayChange(bucket)) return undefined;
        uncertain = true;
      }
      if (bucket.kind === 'penalty') counts = true;
    }
    // Where others refuse for sure, slots may have what they want; but a penalty must not count a refusal that is none.
    if (!refuses || (uncertain && counts)) return undefined;
    const levels = takes.map(({ key, bucket, cost }) => levelNow(this.entries.get(key) as Found, neededFor(bucket, cost), nowMs));
    return !counts || this.penalize(request, levels, provoked) ? levels : undefined;
  }

  /** @param sentAtMs when the store was asked */
  remember(request: TakeRequest, levels: readonly BucketLevel[], sentAtMs: number, nowMs: number): void {
    const { takes } = request;
    let counts = false;
    const after = takes.map((take, i) => {
      if (!isPenaltyTake(take) || !isProvoked(request, levels, i)) return levels[i]!;
      counts = true;
      return penalizedLevel(take.bucket, levels[i] as PenaltyLevel);
    });
    const lastsMs = takes.map(({ bucket, cost }, i) => refusalLastsMs(bucket, after[i]!, cost));
    if (!counts && !lastsMs.some((ms) => ms > 0)) return;
    for (let i = 0; i < takes.length; i++) {
      const { key, bucket, cost } = takes[i]!;
      const before = this.entries.get(key);
      if (before instanceof GivenBack && sentAtMs < before.untilMs) continue;
      const level = after[i]!;
      const untilMs = sentAtMs + Math.min(this.longestMs, lastsMs[i]!);
      const staleAtMs = isBlocked(level) ? untilMs : sentAtMs + this.longestMs;
      // A block refuses whatever comes.
      const least = isBlocked(level) || bucket.kind === 'penalty' ? 0 : neededFor(bucket, cost);
      this.put(key, new Found(bucket, least, level, nowMs, untilMs, staleAtMs));
    }
  }

  /** A request has taken from these buckets: of those that refuse none, what they held is no longer true. */
  passed({ takes }: TakeRequest, nowMs: number): void {
    if (this.entries.size === 0) return;
    for (const { key } of takes) {
      const found = this.entries.get(key);
      if (found instanceof Found && nowMs >= found.refusesUntilMs) this.drop(key);
    }
  }

  /** Something was given back to the bucket, or done to it. */
  forget(key: string, nowMs: number): void {
    this.put(key, new GivenBack(nowMs + GIVING_BACK_TAKES_MS));
  }

  /** Whether all penalties that count this refusal can count it here: not with the last one. */
  private penalize(request: TakeRequest, levels: readonly BucketLevel[], provoked: (take: PenaltyTake) => void): boolean {
    const counting = request.takes.filter(
      (take, i): take is PenaltyTake => isPenaltyTake(take) && (levels[i] as PenaltyLevel).blockedUs <= 0 && isProvoked(request, levels, i),
    );
    if (counting.some(({ key, bucket }) => this.penaltyAfter(key, bucket).blockedUs > 0)) return false;
    for (const take of counting) {
      (this.entries.get(take.key) as Found).level = this.penaltyAfter(take.key, take.bucket);
      provoked(take);
    }
    return true;
  }

  private penaltyAfter(key: string, bucket: PenaltyBucket): PenaltyLevel {
    const { level } = this.entries.get(key) as Found;
    return penalizedLevel(bucket, level as PenaltyLevel);
  }

  /** Whatever is put there is the youngest. */
  private put(key: string, entry: Found | GivenBack): void {
    this.drop(key);
    this.entries.set(key, entry);
    this.usedBytes += bytesOf(key);
    while (this.usedBytes > this.maxBytes) this.drop(this.entries.keys().next().value!);
  }

  private drop(key: string): void {
    if (this.entries.delete(key)) this.usedBytes -= bytesOf(key);
  }
}

/** Characters of keys are ASCII: one byte each. */
function bytesOf(key: string): number {
  return BYTES_OF_ENTRY + key.length;
}

/** Whether it is known what a bucket holds that refuses no longer. Of a window only that what has passed would still pass. */
function knowsLater({ level, needed }: Found, bucket: Bucket, cost: number): boolean {
  return !('retryUs' in level) || (neededFor(bucket, cost) === needed && allows(bucket, level, cost));
}

/** Whether what is known holds for whoever asks for this bucket: what refuses those for whom some of it is kept refuses all others. */
function concerns({ bucket: known }: Found, bucket: Bucket): boolean {
  return known === bucket || known === bucket.whole;
}

/** Whether a refusal may be over at any time. */
function mayChange({ kind, elastic }: Bucket): boolean {
  return elastic || kind === 'concurrency';
}

/** How long a bucket refuses a cost for sure; 0 if it passes, or if that may change at any time. */
function refusalLastsMs(bucket: Bucket, level: BucketLevel, cost: number): number {
  if (allows(bucket, level, cost)) return 0;
  if (isBlocked(level)) return level.blockedForUs / 1000;
  if (mayChange(bucket)) return 0;
  const { retryAfterMs } = decide(bucket, level, cost, false);
  // It was rounded up.
  return retryAfterMs === 'never' ? Infinity : retryAfterMs - 1;
}

function levelNow({ bucket, level, atMs, needed: askedFor }: Found, needed: number, nowMs: number): BucketLevel {
  const later = levelLater(bucket, level, Math.round((nowMs - atMs) * 1000));
  // Of a window it was asked when a smaller cost passes. When nothing counts any more, this one does.
  return needed > askedFor && 'retryUs' in later ? { ...later, retryUs: later.resetUs } : later;
}
