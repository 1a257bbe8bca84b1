import { availableAt, bucketOf } from './bucket.js';
import { keptTokens } from './carry-over.js';
import { rateOf, spanOf } from './algorithms/exact-span.js';
import { capacityOf, excessOf, InvalidLimitError, numbersOf, type Limit, type LimitNumbers, type LimitSpec, type PastLimit } from './limit.js';
import { limitFaults } from './limit-faults.js';
import { quotaWindowMs } from './pace.js';

/** Former generations that a limit remembers. More edits than this within one time to full, and the oldest buckets start empty. */
const MAX_PREVIOUS = 16;

/** How long after an edit a gateway that missed it may still write under the old numbers, with room to spare. */
const STALE_WRITES_MS = 600_000;

/** The limits of a rule that is written for the first time. Throws InvalidLimitError. */
export function startLimits(specs: readonly LimitSpec[], atMs: number): Limit[] {
  return specs.map((spec, index) => startLimit(spec, index, atMs));
}

function startLimit(spec: LimitSpec, id: number, atMs: number): Limit {
  const faults = limitFaults(spec);
  if (faults.length > 0) throw new InvalidLimitError(faults);
  const tokens = (spec.algorithm === 'token_bucket' ? spec.initialTokens : undefined) ?? capacityOf(spec) + excessOf(spec);
  return { ...spec, id, generation: 0, since: { atMs, tokens }, previous: [] };
}

/**
 * The limits of a rule after an edit: matched by name, then by their numbers, then in order, so that renaming or moving a limit
 * keeps its buckets, and so does both at once. Throws InvalidLimitError.
 */
export function editLimits(old: readonly Limit[], specs: readonly LimitSpec[], atMs: number): Limit[] {
  const unclaimed = [...old];
  const claim = (index: number): Limit | undefined => (index === -1 ? undefined : unclaimed.splice(index, 1)[0]);
  const matches = specs.map((spec) => claim(unclaimed.findIndex((limit) => limit.name === spec.name)));
  specs.forEach((spec, index) => (matches[index] ??= claim(unclaimed.findIndex((limit) => sameNumbers(limit, spec)))));
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
    return { ...spec, id: old.id, generation: old.generation, since: old.since, previous: livePrevious(old, atMs) };
  }
  // Two edits in one millisecond, or a clock that stepped back: time does not run backwards within a limit's history.
  const editedAtMs = Math.max(atMs, old.since.atMs);
  const { generation, since } = old;
  const past: PastLimit = { ...numbersOf(specOf(old)), generation, since, ...(old.onEdit !== undefined && { onEdit: old.onEdit }) };
  return {
    ...spec,
    id: old.id,
    generation: generation + 1,
    since: { atMs: editedAtMs, tokens: tokensKept(old, spec, editedAtMs) },
    previous: [past, ...livePrevious(old, atMs)].slice(0, MAX_PREVIOUS),
  };
}

/** A limit as it was written, without its identity and history. */
function specOf({ id: _id, generation: _generation, since: _since, previous: _previous, ...spec }: Limit): LimitSpec {
  return spec;
}

function sameNumbers(old: Limit, spec: LimitSpec): boolean {
  const before: Record<string, unknown> = { ...numbersOf(specOf(old)) };
  const after: Record<string, unknown> = { ...numbersOf(spec) };
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].every((field) => before[field] === after[field]);
}

/** What a bucket that nobody touched carries over the edit: the same as a live one would. */
function tokensKept(old: Limit, spec: LimitSpec, atMs: number): number {
  const bucket = bucketOf(old);
  const held = availableAt(bucket, bucket.start, atMs * 1000);
  return Math.max(0, Math.floor(keptTokens(spec.onEdit ?? 'as_is', held, capacityOf(old) + excessOf(old), capacityOf(spec) + excessOf(spec))));
}

/** The former generations under which a bucket may still be alive. */
export function livePrevious(limit: Limit, nowMs: number): PastLimit[] {
  return limit.previous.filter((past, index) => {
    const replacedAtMs = (limit.previous[index - 1] ?? limit).since.atMs;
    return nowMs < replacedAtMs + timeToFullMs(past) + STALE_WRITES_MS;
  });
}

/** How long a bucket can remember a request. */
function timeToFullMs(past: LimitNumbers & Pick<PastLimit, 'since'>): number {
  const refillMs = (tokens: number, intervalMs: number): number =>
    spanOf(Math.max(capacityOf(past) + excessOf(past), past.since.tokens), rateOf(tokens, intervalMs)).whole / 1000 + intervalMs;
  switch (past.algorithm) {
    case 'token_bucket':
    case 'gcra':
      return refillMs(past.refillTokens, past.refillIntervalMs);
    case 'leaky_bucket':
      return refillMs(past.drainTokens, past.drainIntervalMs);
    case 'fixed_window':
      return past.windowMs ?? quotaWindowMs(past) + CLOCK_CHANGE_MS;
    case 'sliding_log':
      return past.windowMs;
    case 'sliding_counter':
      return past.windowMs + past.windowMs / past.parts;
    case 'concurrency':
      return past.slotTimeoutMs;
  }
}

/** By so much a window of the calendar may be longer than the days in it, and more: clocks change by an hour or two. */
const CLOCK_CHANGE_MS = 86_400_000;
