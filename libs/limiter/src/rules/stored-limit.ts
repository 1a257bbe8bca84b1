import {
  ALGORITHM_NAMES,
  fieldsOf,
  MAX_WAIT_MS,
  ON_EDITS,
  type Limit,
  type LimitSpec,
  type LimitStart,
  type OnEdit,
  type PastLimit,
} from '../limits/limit.js';
import { MAX_PREVIOUS } from '../limits/limit-edit.js';
import { limitFaults } from '../limits/limit-faults.js';
import { fail, listAt, objectAt, oneOfAt, UnreadableError, wholeAt } from './stored-value.js';
import { LIMIT_NAME_MAX_LENGTH } from '../fields/text-formats.js';
import { isTimeZone } from '../fields/time-zone.js';

/** Limits as they come back from a store: see `storedRule`. */

/** Of the wire format of takes. */
export const MOST_GENERATIONS = 2 ** 32 - 1;
/** In the year 2255 the microseconds of a clock leave the whole numbers of a double. */
const LAST_MS = Math.floor(Number.MAX_SAFE_INTEGER / 1000);
/** Levels of buckets, surpluses and what edits have added to them included. */
const MOST_TOKENS = 1e12;

/** Throws UnreadableError. @param at where it stands, for the message */
export function storedLimit(value: unknown, at: string): Limit {
  const fields = objectAt(value, at);
  // Not spread into a new object: each limit would have a hidden class of its own. See leasing/lendable-rule.ts.
  return Object.assign(specAt(fields, at), {
    id: wholeAt(fields['id'], `${at}.id`, 0, Number.MAX_SAFE_INTEGER),
    generation: wholeAt(fields['generation'], `${at}.generation`, 0, MOST_GENERATIONS),
    since: startAt(fields['since'], `${at}.since`),
    previous: listAt(fields['previous'], `${at}.previous`, 0, MAX_PREVIOUS).map((past, i) => pastLimitAt(past, `${at}.previous[${i}]`)),
  });
}

function pastLimitAt(value: unknown, at: string): PastLimit {
  const fields = objectAt(value, at);
  const { name: _name, onEdit, ...numbers } = specAt({ ...fields, name: 'past' }, at);
  return {
    ...numbers,
    ...(onEdit !== undefined && { onEdit: oneOfAt<OnEdit>(onEdit, ON_EDITS, `${at}.onEdit`) }),
    generation: wholeAt(fields['generation'], `${at}.generation`, 0, MOST_GENERATIONS),
    since: startAt(fields['since'], `${at}.since`),
  };
}

/** What an administrator has written, by the same bounds. */
function specAt(fields: Readonly<Record<string, unknown>>, at: string): LimitSpec {
  const algorithm = oneOfAt(fields['algorithm'], ALGORITHM_NAMES, `${at}.algorithm`);
  const spec: Record<string, unknown> = {};
  for (const field of fieldsOf(algorithm)) {
    const value = fields[field];
    if (value === undefined) continue;
    // All that is not a text or a number is small: limitFaults quotes what is wrong.
    if (field === 'onLimit') spec[field] = delayAt(value, `${at}.onLimit`);
    else if (field === 'timeZone') spec[field] = storedTimeZone(value, `${at}.timeZone`);
    else if (typeof value === 'number' || (typeof value === 'string' && value.length <= LIMIT_NAME_MAX_LENGTH)) spec[field] = value;
    else fail(`${at}.${field}`, 'must be a number or a short text', value);
  }
  const [fault] = limitFaults(spec as unknown as LimitSpec);
  if (fault) throw new UnreadableError(`${at}.${fault.field}: ${fault.detail}`);
  return spec as unknown as LimitSpec;
}

function delayAt(value: unknown, at: string): { delay: { maxWaitMs: number } } {
  const { maxWaitMs } = objectAt(objectAt(value, at)['delay'], `${at}.delay`);
  return { delay: { maxWaitMs: wholeAt(maxWaitMs, `${at}.delay.maxWaitMs`, MAX_WAIT_MS.min, MAX_WAIT_MS.max) } };
}

function startAt(value: unknown, at: string): LimitStart {
  const { atMs, tokens, fraction } = objectAt(value, at);
  if (typeof atMs !== 'number' || !(atMs >= 0 && atMs <= LAST_MS)) fail(`${at}.atMs`, 'must be a time', atMs);
  const start = { atMs, tokens: wholeAt(tokens, `${at}.tokens`, -MOST_TOKENS, MOST_TOKENS) };
  if (fraction === undefined) return start;
  const { part, of } = objectAt(fraction, `${at}.fraction`);
  const whole = wholeAt(of, `${at}.fraction.of`, 2, Number.MAX_SAFE_INTEGER);
  return { ...start, fraction: { part: wholeAt(part, `${at}.fraction.part`, 1, whole - 1), of: whole } };
}

/** Throws UnreadableError. Zones that were found good are remembered, because to look one up is dear. */
export function storedTimeZone(value: unknown, at = 'timeZone'): string {
  if (typeof value === 'string' && GOOD_ZONES.has(value)) return value;
  if (!isTimeZone(value)) return fail(at, 'must be an IANA time zone', value);
  if (GOOD_ZONES.size >= MOST_ZONES) GOOD_ZONES.clear();
  GOOD_ZONES.add(value);
  return value;
}

const MOST_ZONES = 1000;
const GOOD_ZONES = new Set<string>();
