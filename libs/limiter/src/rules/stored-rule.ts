import { CONSISTENCY } from './consistency.js';
import type { Cost } from './cost.js';
import type { NewerRule } from './newer-rule.js';
import { pathPatternFault } from '../matching/path-pattern.js';
import { LAYERS, RULE_FIELDS, STORE_FAILURE_POLICIES, type KeyPart, type Penalty, type Rule, type RuleMatch } from './rule.js';
import { RULE_LANGUAGE } from './rule-language.js';
import type { Mode } from './rule-mode.js';
import type { Schedule } from '../schedule/schedule-fields.js';
import { storedLimit } from './stored-limit.js';
import { fail, isThere, listAt, objectAt, oneOfAt, UnreadableError, valueAt, wholeAt } from './stored-value.js';
import { HTTP_METHOD } from '../fields/text-formats.js';

/**
 * Rules as they come back from a store, read as input from outside: another version of Tollgate may have written them, or
 * somebody else. What passes here, the limiter can decide by; everything else is an UnreadableError that says where.
 * Only known fields are copied, so nothing else of the input lives on.
 */

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
      storedLimit(limit, `${at}.limits[${i}]`),
    ),
    cost: costAt(cost, `${at}.cost`),
    onStoreFailure: oneOfAt(onStoreFailure, STORE_FAILURE_POLICIES, `${at}.onStoreFailure`),
  };
  differentAt(
    rule.limits.map((limit) => limit.id),
    `${at}.limits: the ids`,
  );
  // Not spread into a new object: V8 would give each rule that has more than the fields above a hidden class of its own. See leasing/lendable-rule.ts.
  return Object.assign(rule, {
    ...timesAt(others, at),
    ...chargeAt(others, at),
    ...(isThere(others.onLimit) && { onLimit: { ...valueAt(others.onLimit, RULE_FIELDS.onLimit, `${at}.onLimit`)! } }),
    ...consistencyAt(others, at),
    ...(isThere(others.reserve) && { reserve: structuredClone(valueAt(others.reserve, RULE_FIELDS.reserve, `${at}.reserve`)) }),
    ...(isThere(penalty) && { penalty: penaltyAt(penalty, `${at}.penalty`) }),
  });
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

function differentAt<T>(values: T[], at: string): T[] {
  if (new Set(values).size < values.length) throw new UnreadableError(`${at} must differ`);
  return values;
}
