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
} from './limit.js';
import { CONSISTENCY } from './consistency.js';
import type { Cost } from './cost.js';
import type { Field, ValueOf } from './field.js';
import { valueFaults } from './field-faults.js';
import { MAX_PREVIOUS } from './limit-edit.js';
import { limitFaults } from './limit-faults.js';
import type { NewerRule } from './newer-rule.js';
import { pathPatternFault } from './path-pattern.js';
import { LAYERS, RULE_FIELDS, STORE_FAILURE_POLICIES, type KeyPart, type Penalty, type Rule, type RuleMatch } from './rule.js';
import { RULE_LANGUAGE } from './rule-language.js';
import type { Mode } from './rule-mode.js';
import type { Schedule } from './schedule/schedule-fields.js';
import { HTTP_METHOD, LIMIT_NAME_MAX_LENGTH } from './text-formats.js';
import { isTimeZone } from './time-zone.js';

/**
 * Rules as they come back from a store, read as input from outside: another version of Tollgate may have written them, or
 * somebody else. What passes here, the limiter can decide by; everything else is an UnreadableError that says where.
 * Only known fields are copied, so nothing else of the input lives on.
 */

/** What was stored is not what it should be. The message says where and what, and quotes at most a few characters. */
export class UnreadableError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnreadableError';
  }
}

/** More than the Rules API lets anybody have. */
const MOST_RULES = 1000;

/** The rules of one owner, and those of them that only a newer version can read, if there are any. */
export interface StoredRules {
  readonly rules: readonly Rule[];
  readonly newerRules?: readonly NewerRule[];
}

/** Throws UnreadableError. */
export function storedRules(value: unknown): StoredRules {
  const rules: Rule[] = [];
  const newerRules: NewerRule[] = [];
  for (const [i, rule] of listAt(value, 'rules', 0, MOST_RULES).entries()) {
    const newer = newerRule(rule, `rules[${i}]`);
    if (newer === undefined) rules.push(storedRule(rule, `rules[${i}]`));
    else newerRules.push(newer);
  }
  const ids = [...rules, ...newerRules].map(({ id }) => id);
  if (new Set(ids).size < ids.length) throw new UnreadableError('rules: two have the same id');
  return { rules, ...(newerRules.length > 0 && { newerRules }) };
}

const MOST_LANGUAGES = 1_000_000;

/** Undefined for a rule that this version should be able to read. Throws UnreadableError for one of which not even its effect is known. */
function newerRule(value: unknown, at: string): NewerRule | undefined {
  const { id, language, onStoreFailure, match } = objectAt(value, at);
  if (!Number.isSafeInteger(language) || (language as number) <= RULE_LANGUAGE) return undefined;
  return {
    id: idAt(id, at),
    language: wholeAt(language, `${at}.language`, 1, MOST_LANGUAGES),
    onStoreFailure: oneOfAt(onStoreFailure, STORE_FAILURE_POLICIES, `${at}.onStoreFailure`),
    match: knownMatch(match),
  };
}

function knownMatch(value: unknown): NewerRule['match'] {
  try {
    const { methods, paths } = matchAt({ ...objectAt(value, 'match'), all: undefined }, 'match');
    return { methods, paths };
  } catch (error) {
    if (error instanceof UnreadableError) return { methods: [], paths: [] };
    throw error;
  }
}

function idAt(id: unknown, at: string): string {
  return typeof id === 'string' && /^[1-9]\d{0,18}$/.test(id) ? id : fail(`${at}.id`, 'must be a decimal number as text', id);
}

/** Throws UnreadableError. @param at where it stands, for the message */
export function storedRule(value: unknown, at = 'rule'): Rule {
  const { id, name, layer, priority, enabled, mode, match, key, limits, cost, onStoreFailure, penalty, language, ...others } = objectAt(
    value,
    at,
  );
  if (language !== undefined) wholeAt(language, `${at}.language`, 1, RULE_LANGUAGE);
  if (typeof name !== 'string' || name.length > RULE_FIELDS.name.format.schema.maxLength!) fail(`${at}.name`, 'must be a short text', name);
  if (typeof enabled !== 'boolean') fail(`${at}.enabled`, 'must be true or false', enabled);
  const rule: Rule = {
    id: idAt(id, at),
    name,
    layer: oneOfAt(layer, LAYERS, `${at}.layer`),
    priority: wholeAt(priority, `${at}.priority`, RULE_FIELDS.priority.min, RULE_FIELDS.priority.max),
    enabled,
    mode: valueAt(mode, RULE_FIELDS.mode, `${at}.mode`) as Mode,
    match: matchAt(match, `${at}.match`),
    key: [...(valueAt(key, RULE_FIELDS.key, `${at}.key`) as readonly KeyPart[])],
    limits: listAt(limits, `${at}.limits`, RULE_FIELDS.limits.min, RULE_FIELDS.limits.max).map((limit, i) =>
      limitAt(limit, `${at}.limits[${i}]`),
    ),
    cost: costAt(cost, `${at}.cost`),
    onStoreFailure: oneOfAt(onStoreFailure, STORE_FAILURE_POLICIES, `${at}.onStoreFailure`),
  };
  differentAt(
    rule.limits.map((limit) => limit.id),
    `${at}.limits: the ids`,
  );
  return {
    ...rule,
    ...timesAt(others, at),
    ...chargeAt(others, at),
    ...(isThere(others.onLimit) && { onLimit: { ...valueAt(others.onLimit, RULE_FIELDS.onLimit, `${at}.onLimit`)! } }),
    ...consistencyAt(others, at),
    ...(isThere(others.reserve) && { reserve: structuredClone(valueAt(others.reserve, RULE_FIELDS.reserve, `${at}.reserve`)) }),
    ...(isThere(penalty) && { penalty: penaltyAt(penalty, `${at}.penalty`) }),
  };
}

/** When the rule applies at all. */
function timesAt(
  { validFrom, validTo, schedule }: Readonly<Record<string, unknown>>,
  at: string,
): Pick<Rule, 'validFrom' | 'validTo' | 'schedule'> {
  return {
    ...(isThere(validFrom) && { validFrom: valueAt(validFrom, RULE_FIELDS.validFrom, `${at}.validFrom`) as string }),
    ...(isThere(validTo) && { validTo: valueAt(validTo, RULE_FIELDS.validTo, `${at}.validTo`) as string }),
    ...(isThere(schedule) && { schedule: structuredClone(valueAt(schedule, RULE_FIELDS.schedule, `${at}.schedule`)) as Schedule }),
  };
}

/** What holds unless it is said is not kept, so that a plain rule is written as it always was. */
function consistencyAt({ consistency }: Readonly<Record<string, unknown>>, at: string): Pick<Rule, 'consistency'> {
  if (!isThere(consistency) || consistency === CONSISTENCY.default) return {};
  return { consistency: oneOfAt(consistency, CONSISTENCY.values, `${at}.consistency`) };
}

function costAt(value: unknown, at: string): Cost {
  const cost = valueAt(value, RULE_FIELDS.cost, at);
  return typeof cost === 'number' ? cost : structuredClone(cost);
}

/** What the rule does with bodies and answers. */
function chargeAt({ charge, onUnreadableBody }: Readonly<Record<string, unknown>>, at: string): Pick<Rule, 'charge' | 'onUnreadableBody'> {
  return {
    ...(isThere(charge) && { charge: structuredClone(valueAt(charge, RULE_FIELDS.charge, `${at}.charge`)) }),
    ...(isThere(onUnreadableBody) && {
      onUnreadableBody: valueAt(onUnreadableBody, RULE_FIELDS.onUnreadableBody, `${at}.onUnreadableBody`),
    }),
  };
}

/** What stands nowhere, or as null in a column, is none. */
function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Checks by the table by which it was written. Small or of bounded size: what is wrong is quoted shortly. */
function valueAt<F extends Field>(value: unknown, field: F, at: string): ValueOf<F> {
  const [fault] = valueFaults(value, field, { pointer: '', code: 'rule' });
  if (fault === undefined) return value as ValueOf<F>;
  throw new UnreadableError(`${at}${fault.pointer.replaceAll('/', '.')}: ${fault.detail.slice(0, MOST_QUOTED)}`);
}

const MOST_QUOTED = 200;

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

/** Throws UnreadableError unless it is a JSON object. */
export function objectAt(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail(at, 'must be an object', value);
  return value as Record<string, unknown>;
}

/** Throws UnreadableError unless it is a whole number within bounds. */
export function wholeAt(value: unknown, at: string, min: number, max: number): number {
  if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max)
    fail(at, `must be a whole number from ${min} to ${max}`, value);
  return value as number;
}

function matchAt(value: unknown, at: string): RuleMatch {
  const { methods, paths, all } = objectAt(value, at);
  return {
    ...(isThere(all) && { all: structuredClone(valueAt(all, RULE_FIELDS.match.fields.all, `${at}.all`)) }),
    methods: listAt(methods, `${at}.methods`, 0, RULE_FIELDS.match.fields.methods.max).map((method, i) =>
      typeof method === 'string' && HTTP_METHOD.fault(method) === undefined
        ? method
        : fail(`${at}.methods[${i}]`, 'must be an HTTP method in capitals', method),
    ),
    paths: listAt(paths, `${at}.paths`, 0, RULE_FIELDS.match.fields.paths.max).map((path, i) =>
      typeof path === 'string' && pathPatternFault(path) === undefined ? path : fail(`${at}.paths[${i}]`, 'must be a path pattern', path),
    ),
  };
}

function penaltyAt(value: unknown, at: string): Penalty {
  const fields = objectAt(value, at);
  const number = (field: keyof Penalty): number =>
    wholeAt(fields[field], `${at}.${field}`, RULE_FIELDS.penalty.fields[field].min, RULE_FIELDS.penalty.fields[field].max);
  return { refusals: number('refusals'), windowMs: number('windowMs'), blockMs: number('blockMs') };
}

/** Of the wire format of takes. */
export const MOST_GENERATIONS = 2 ** 32 - 1;
/** In the year 2255 the microseconds of a clock leave the whole numbers of a double. */
const LAST_MS = Math.floor(Number.MAX_SAFE_INTEGER / 1000);
/** Levels of buckets, surpluses and what edits have added to them included. */
const MOST_TOKENS = 1e12;

function limitAt(value: unknown, at: string): Limit {
  const fields = objectAt(value, at);
  return {
    ...specAt(fields, at),
    id: wholeAt(fields['id'], `${at}.id`, 0, Number.MAX_SAFE_INTEGER),
    generation: wholeAt(fields['generation'], `${at}.generation`, 0, MOST_GENERATIONS),
    since: startAt(fields['since'], `${at}.since`),
    previous: listAt(fields['previous'], `${at}.previous`, 0, MAX_PREVIOUS).map((past, i) => pastLimitAt(past, `${at}.previous[${i}]`)),
  };
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

/** Throws UnreadableError unless it is a list of a length within bounds. */
export function listAt(value: unknown, at: string, min: number, max: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length < min || value.length > max) return fail(at, `must be a list of ${min} to ${max}`, value);
  return value;
}

function differentAt<T>(values: T[], at: string): T[] {
  if (new Set(values).size < values.length) throw new UnreadableError(`${at} must differ`);
  return values;
}

function oneOfAt<T extends string>(value: unknown, names: readonly T[], at: string): T {
  return names.includes(value as T) ? (value as T) : fail(at, `must be one of ${names.join(', ')}`, value);
}

/** Quotes texts and numbers only, and shortly: what is wrong may be large, deep or secret. */
function fail(at: string, expected: string, value: unknown): never {
  const got =
    typeof value === 'string'
      ? JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
      : typeof value === 'number'
        ? String(value)
        : value === undefined
          ? 'nothing'
          : Array.isArray(value)
            ? 'a list'
            : `a ${typeof value}`;
  throw new UnreadableError(`${at}: ${expected}, got ${got}`);
}
