import { tokensAt } from './carry-over.js';
import { rateOf, spanOf } from './exact-span.js';
import { LIMIT_BOUNDS, InvalidLimitError, type Limit, type LimitFault, type LimitSpec, type PastLimit } from './limit.js';
import { tokenBucket } from './token-bucket.js';

/** Former generations that a limit remembers. More edits than this within one time to full, and the oldest buckets start empty. */
const MAX_PREVIOUS = 16;

/** How long after an edit a gateway that missed it may still write under the old numbers, with room to spare. */
const STALE_WRITES_MS = 600_000;

/** Largest denominator for which sums of spans stay exact in a double. */
const MAX_DENOMINATOR = 94_906_265;

/** Every reason why these numbers make no bucket; empty when they do. */
export function limitFaults(spec: LimitSpec): LimitFault[] {
  const faults: LimitFault[] = [];
  if (typeof spec.name !== 'string' || spec.name.length > LIMIT_BOUNDS.name.maxLength || !LIMIT_BOUNDS.name.pattern.test(spec.name)) {
    faults.push({
      field: 'name',
      detail: `must be 1 to ${LIMIT_BOUNDS.name.maxLength} letters, digits, spaces, '.', '_' or '-', got ${JSON.stringify(spec.name)}`,
    });
  }
  for (const field of ['capacity', 'refillTokens', 'refillIntervalMs', 'initialTokens'] as const) {
    const value = spec[field];
    if (field === 'initialTokens' && value === undefined) continue;
    const { min, max } = LIMIT_BOUNDS[field];
    if (!Number.isInteger(value) || value! < min || value! > max) {
      faults.push({ field, detail: `must be a whole number from ${min} to ${max}, got ${JSON.stringify(value)}` });
    }
  }
  if (spec.refill !== 'greedy' && spec.refill !== 'interval') {
    faults.push({ field: 'refill', detail: `must be 'greedy' or 'interval', got ${JSON.stringify(spec.refill)}` });
  }
  return faults.length > 0 ? faults : rateFaults(spec);
}

function rateFaults(spec: LimitSpec): LimitFault[] {
  const { capacity, refillTokens, refillIntervalMs } = spec;
  const most = Math.floor((LIMIT_BOUNDS.tokensPerSecond.max * refillIntervalMs) / 1000);
  if (refillTokens > most) {
    return [{
      field: 'refillTokens',
      detail: `must be at most ${most} for an interval of ${refillIntervalMs} ms (1000000 tokens a second), got ${refillTokens}`,
    }];
  }
  const rate = rateOf(refillTokens, refillIntervalMs);
  if (rate.n > MAX_DENOMINATOR) {
    return [{
      field: 'refillTokens',
      detail: `must be at most ${MAX_DENOMINATOR} or share a factor with the interval, got ${refillTokens}; the nearest is ${refillTokens - (refillTokens % 1000)}`,
    }];
  }
  const longest = Math.max(capacity, spec.initialTokens ?? 0);
  if (spanOf(longest, rate).whole > LIMIT_BOUNDS.timeToFullMs.max * 1000) {
    const field = longest === capacity ? 'capacity' : 'initialTokens';
    const nearest = Math.floor((LIMIT_BOUNDS.timeToFullMs.max / refillIntervalMs) * refillTokens);
    return [{ field, detail: `must be filled within ten years: at most ${nearest} at this rate, got ${longest}` }];
  }
  return [];
}

/** The limits of a rule that is written for the first time. Throws InvalidLimitError. */
export function startLimits(specs: readonly LimitSpec[], atMs: number): Limit[] {
  return specs.map((spec, index) => startLimit(spec, index, atMs));
}

function startLimit(spec: LimitSpec, id: number, atMs: number): Limit {
  const faults = limitFaults(spec);
  if (faults.length > 0) throw new InvalidLimitError(faults);
  return { ...spec, id, generation: 0, start: { atMs, tokens: spec.initialTokens ?? spec.capacity }, previous: [] };
}

/**
 * The limits of a rule after an edit: matched by name, then in order, so that renaming or moving a limit keeps its
 * buckets. Throws InvalidLimitError.
 */
export function editLimits(old: readonly Limit[], specs: readonly LimitSpec[], atMs: number): Limit[] {
  const unclaimed = [...old];
  const claim = (index: number): Limit | undefined => (index === -1 ? undefined : unclaimed.splice(index, 1)[0]);
  const matches = specs.map((spec) => claim(unclaimed.findIndex((limit) => limit.name === spec.name)));
  // From the clock, because the id of a limit that was removed must not come back: its buckets may still be alive.
  let nextId = Math.max(atMs, ...old.map((limit) => limit.id + 1));
  return specs.map((spec, index) => {
    const former = matches[index] ?? claim(0);
    return former ? editLimit(former, spec, atMs) : startLimit(spec, nextId++, atMs);
  });
}

function editLimit(old: Limit, spec: LimitSpec, atMs: number): Limit {
  const faults = limitFaults(spec);
  if (faults.length > 0) throw new InvalidLimitError(faults);
  if (sameNumbers(old, spec)) {
    return { ...spec, id: old.id, generation: old.generation, start: old.start, previous: livePrevious(old, atMs) };
  }
  // Two edits in one millisecond, or a clock that stepped back: time does not run backwards within a limit's history.
  const editedAtMs = Math.max(atMs, old.start.atMs);
  const { capacity, refillTokens, refillIntervalMs, refill, generation, start } = old;
  return {
    ...spec,
    id: old.id,
    generation: generation + 1,
    start: { atMs: editedAtMs, tokens: tokensKept(old, spec.capacity, editedAtMs) },
    previous: [{ capacity, refillTokens, refillIntervalMs, refill, generation, start }, ...livePrevious(old, atMs)].slice(0, MAX_PREVIOUS),
  };
}

function sameNumbers(a: LimitSpec, b: LimitSpec): boolean {
  return a.capacity === b.capacity && a.refillTokens === b.refillTokens && a.refillIntervalMs === b.refillIntervalMs && a.refill === b.refill;
}

/** What a bucket that nobody touched carries over the edit: the same as a live one would. */
function tokensKept(old: Limit, capacity: number, atMs: number): number {
  const bucket = tokenBucket(old);
  const held = tokensAt(bucket, bucket.start, atMs * 1000);
  return Math.max(0, Math.floor(Math.min(held, capacity)));
}

/** The former generations under which a bucket may still be alive. */
export function livePrevious(limit: Limit, nowMs: number): PastLimit[] {
  return limit.previous.filter((past, index) => {
    const replacedAtMs = (limit.previous[index - 1] ?? limit).start.atMs;
    return nowMs < replacedAtMs + timeToFullMs(past) + STALE_WRITES_MS;
  });
}

function timeToFullMs(past: PastLimit): number {
  const tokens = Math.max(past.capacity, past.start.tokens);
  return spanOf(tokens, rateOf(past.refillTokens, past.refillIntervalMs)).whole / 1000 + past.refillIntervalMs;
}
