import type { Amount } from '../algorithms/amount.js';
import { limitAlgorithm } from './limit-algorithm.js';
import { bucketOf, exhausted, generationsOf, isFull, missingAt, startState } from '../buckets/bucket.js';
import { carriedAlong, missingAfterEdit } from '../buckets/carry-over.js';
import {
  capacityOf,
  excessOf,
  followsMerchant,
  numbersOf,
  type Limit,
  type LimitNumbers,
  type LimitSpec,
  type LimitStart,
  type PastLimit,
} from './limit.js';
import { InvalidLimitError, limitFaults } from './limit-faults.js';

/**
 * Former generations that a limit remembers, where live buckets may still carry them. A bucket that nobody touched during more edits than
 * this, all within its time to full, counts as empty at the oldest of them.
 */
export const MAX_PREVIOUS = 100;

/** How long a gateway that missed an edit may go on under the old numbers: minutes, where seconds are promised. */
const STALE_WRITES_MS = 600_000;

/** The limits of a rule that is written for the first time. Throws InvalidLimitError. */
export function startLimits(specs: readonly LimitSpec[], atMs: number): Limit[] {
  return specs.map((spec, index) => startLimit(spec, index, atMs));
}

function startLimit(spec: LimitSpec, id: number, atMs: number): Limit {
  const faults = limitFaults(spec);
  if (faults.length > 0) throw new InvalidLimitError(faults);
  const tokens = limitAlgorithm(spec).initialTokens?.(spec) ?? capacityOf(spec) + excessOf(spec);
  return { ...spec, id, generation: 0, since: { atMs, tokens }, previous: [] };
}

/**
 * The limits of a rule after an edit: matched by name, then by their numbers, then in order, so that renaming or moving a limit
 * keeps its buckets, and so does both at once. Throws InvalidLimitError.
 *
 * @param timeZone of the merchant, for limits that follow the calendar and name no zone of their own
 */
export function editLimits(old: readonly Limit[], specs: readonly LimitSpec[], atMs: number, timeZone?: string): Limit[] {
  const unclaimed = [...old];
  const claim = (index: number): Limit | undefined => (index === -1 ? undefined : unclaimed.splice(index, 1)[0]);
  const matches = specs.map((spec) => claim(unclaimed.findIndex((limit) => limit.name === spec.name)));
  specs.forEach((spec, index) => (matches[index] ??= claim(unclaimed.findIndex((limit) => sameNumbers(limit, spec)))));
  // From the clock, because the id of a limit that was removed must not come back: its buckets may still be alive.
  let nextId = Math.max(atMs, ...old.map((limit) => limit.id + 1));
  return specs.map((spec, index) => {
    const former = matches[index] ?? claim(0);
    return former ? editLimit(former, spec, atMs, timeZone) : startLimit(spec, nextId++, atMs);
  });
}

function editLimit(old: Limit, spec: LimitSpec, atMs: number, timeZone: string | undefined): Limit {
  const faults = limitFaults(spec);
  if (faults.length > 0) throw new InvalidLimitError(faults);
  if (sameNumbers(old, spec)) {
    return { ...spec, id: old.id, generation: old.generation, since: old.since, previous: livePrevious(old, atMs, timeZone) };
  }
  return nextGeneration(old, numbersOf(specOf(old)), spec, atMs, timeZone);
}

/**
 * The limits of a rule whose merchant moves to another time zone. For those that follow the merchant's calendar that is an edit: what
 * was used counts on in the window of the new zone, so that nobody gets a second quota. The same array if it concerns none of them.
 */
export function moveLimits(old: readonly Limit[], from: string, to: string, atMs: number): readonly Limit[] {
  if (from === to || !old.some(followsMerchant)) return old;
  return old.map((limit) => {
    if (!followsMerchant(limit)) return limit;
    const pinned = {
      ...limit,
      timeZone: from,
      previous: limit.previous.map((past) => (followsMerchant(past) ? { ...past, timeZone: from } : past)),
    };
    return nextGeneration(pinned, numbersOf(specOf(pinned)), specOf(limit), atMs, to);
  });
}

/**
 * A limit with other numbers from an instant on, whatever they are: its next generation.
 *
 * @param generation larger than that of `old`
 */
export function succeeded(old: Limit, spec: LimitSpec, atMs: number, timeZone: string | undefined, generation: number): Limit {
  return nextGeneration(old, numbersOf(specOf(old)), spec, atMs, timeZone, generation);
}

function nextGeneration(
  old: Limit,
  numbers: LimitNumbers,
  spec: LimitSpec,
  atMs: number,
  timeZone: string | undefined,
  number = old.generation + 1,
): Limit {
  // Two edits in one millisecond, or a clock that stepped back: time does not run backwards within a limit's history.
  const editedAtMs = Math.max(atMs, old.since.atMs);
  const { generation, since } = old;
  const past: PastLimit = { ...numbers, generation, since, ...(old.onEdit !== undefined && { onEdit: old.onEdit }) };
  return {
    ...spec,
    id: old.id,
    generation: number,
    since: startAfterEdit(old, spec, editedAtMs, timeZone),
    previous: [past, ...livePrevious(old, atMs, timeZone)].slice(0, MAX_PREVIOUS),
  };
}

/** A limit as it was written, without its identity and history. */
export function specOf({
  id: _id,
  generation: _generation,
  since: _since,
  previous: _previous,
  inForce: _inForce,
  ...spec
}: Limit): LimitSpec {
  return spec;
}

function sameNumbers(old: Limit, spec: LimitSpec): boolean {
  const before: Record<string, unknown> = { ...numbersOf(specOf(old)) };
  const after: Record<string, unknown> = { ...numbersOf(spec) };
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].every((field) => before[field] === after[field]);
}

/** What a bucket that nobody touched carries over the edit: the same as a live one would. */
function startAfterEdit(old: Limit, spec: LimitSpec, atMs: number, timeZone: string | undefined): LimitStart {
  const bucket = bucketOf(old, timeZone);
  const capacity = capacityOf(spec) + excessOf(spec);
  const missing = missingAt(bucket, startState(bucket, atMs * 1000), atMs * 1000);
  const { whole, part, of }: Amount = missingAfterEdit(spec.onEdit ?? 'as_is', missing, capacityOf(old) + excessOf(old), capacity);
  const tokens = capacity - whole;
  return part === 0 ? { atMs, tokens } : { atMs, tokens: tokens - 1, fraction: { part: of - part, of } };
}

/**
 * The former generations that still matter: forgotten is one whose buckets would be full by now had they been empty when it was replaced, as
 * full as one that nobody has touched. Asked of the functions that carry buckets over, so that no period has to fit another.
 */
function livePrevious(limit: Limit, nowMs: number, timeZone?: string): readonly PastLimit[] {
  if (limit.previous.length === 0) return limit.previous;
  const generations = generationsOf(bucketOf(limit, timeZone));
  const present = generations.at(-1)!;
  const nowUs = nowMs * 1000;
  // The newest first: whoever is older than one that no longer matters does not matter either.
  for (let i = 0; i < limit.previous.length; i++) {
    const since = generations.slice(generations.length - 1 - i);
    const emptyAtUs = since[0]!.startedAtUs + STALE_WRITES_MS * 1000;
    if (emptyAtUs <= nowUs && isFull(present, carriedAlong(since, exhausted(since[0]!, emptyAtUs), nowUs), nowUs))
      return limit.previous.slice(0, i);
  }
  return limit.previous;
}
