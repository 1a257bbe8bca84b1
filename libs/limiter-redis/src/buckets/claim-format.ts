import { CHARGE, isPlainObject, type Condition, UnreadableError, type Reservation } from '#limiter';
import { codecOf, KIND } from '../../lua/algorithms/index.js';
import type { ClaimedTake } from './claimed-take.js';
import { refundsOf } from './refund-call.js';
import { parsed, StoredError, type Parsed } from '../stored.js';

/** What a claim stands for, as it lies in Redis: what was taken, ready to be given back by any process, and what of it waits for which answer. */
export interface Claim {
  readonly taken: readonly ClaimedTake[];
  /** Of rules that charge on response. */
  readonly conditions: readonly Condition[];
}

const FORMAT = 1;
/** A rule has at most ten limits, and a request four layers; keys and conditions are bounded where they are written. */
const MOST_TAKEN = 1_000;
const MOST_CONDITIONS = 100;
const MOST_NUMBERS = 6;
const MOST_KEY_CHARACTERS = 10_000;
export const MOST_CLAIM_CHARACTERS = 65_536;

/**
 * What reservations leave for their end. Undefined if it could not be read again, because it is too large.
 *
 * @param nowMs what time it is at the store
 */
export function claimOf(reservations: readonly Reservation[], nowMs: number): Claim {
  const conditions: Condition[] = [];
  const taken = reservations.flatMap(({ takes, levels, takenAtUs, holder, charged }) => {
    const from = conditions.length;
    conditions.push(...charged.map(({ charge }) => charge.when));
    return takes.flatMap((take, i): ClaimedTake[] => {
      const [refund] = refundsOf([{ takes: [take], levels: [levels[i]!], takenAtUs, holder }], nowMs);
      if (refund === undefined) return [];
      const group = charged.findIndex((each) => i >= each.from && i < each.to);
      const { key, bucket } = take;
      const common = { key, kind: codecOf(bucket).name, generation: bucket.generation, numbers: refund.numbers };
      return [group === -1 ? common : { ...common, unless: from + group }];
    });
  });
  return { taken, conditions };
}

export function claimText({ taken, conditions }: Claim): string {
  return JSON.stringify({
    v: FORMAT,
    t: taken.map(({ key, kind, generation, numbers, unless }) => [key, kind, generation, numbers, unless ?? null]),
    c: conditions,
  });
}

export function parseClaim(text: string): Parsed<Claim> {
  return parsed(text, MOST_CLAIM_CHARACTERS, (value) => {
    if (!isPlainObject(value)) throw new UnreadableError('a claim is an object');
    if (value['v'] !== FORMAT) throw new StoredError('newer_format', `format ${String(value['v']).slice(0, 20)}`);
    const { t: taken, c: conditions } = value;
    if (!isListOf(conditions, MOST_CONDITIONS) || !conditions.every(isCondition)) throw new UnreadableError('conditions of a claim');
    if (!isListOf(taken, MOST_TAKEN)) throw new UnreadableError('takes of a claim');
    return { taken: taken.map((each) => takeOf(each, conditions.length)), conditions };
  });
}

function isListOf(value: unknown, most: number): value is readonly unknown[] {
  return Array.isArray(value) && value.length <= most;
}

function isCondition(value: unknown): value is Condition {
  return CHARGE.check({ on: 'response', when: value }, { pointer: '', code: 'charge' }, {}).length === 0;
}

function takeOf(value: unknown, conditions: number): ClaimedTake {
  if (!isListOf(value, 5)) throw new UnreadableError('a take of a claim');
  const [key, kind, generation, numbers, unless] = value;
  const isSound =
    typeof key === 'string' &&
    key.length <= MOST_KEY_CHARACTERS &&
    typeof kind === 'string' &&
    Object.hasOwn(KIND, kind) &&
    isWholeBelow(generation, 2 ** 32) &&
    isListOf(numbers, MOST_NUMBERS) &&
    numbers.every(Number.isFinite) &&
    (unless === null || isWholeBelow(unless, conditions));
  if (!isSound) throw new UnreadableError('a take of a claim');
  return { key, kind, generation, numbers: numbers as number[], unless: unless ?? undefined };
}

function isWholeBelow(value: unknown, bound: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < bound;
}
