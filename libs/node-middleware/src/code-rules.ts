import { createHash } from 'node:crypto';
import {
  completed,
  isPlainObject,
  objectFaults,
  RULE_FIELDS,
  startLimits,
  writingFaults,
  type Fault,
  type Layer,
  type Rule,
  type RuleSpec,
} from '#limiter';
import { OptionsError, placed, type OptionFault } from './options-error.js';
import { ROUTE_HEADER } from './route-name.js';

/**
 * A rule that stands in the code of a service: in the language of rules, as the Rules API takes it, or shortly, with `limit` and `windowMs` instead of `limits`.
 * Unlike a rule that is stored, it is of the layer `platform` unless it says otherwise: what a service demands adds to what merchants have.
 */
export interface CodeRule {
  readonly name?: string;
  /** Tokens in `windowMs`. */
  readonly limit?: number;
  /** Milliseconds. */
  readonly windowMs?: number;
  /** By which fields of a request buckets are told apart; `['merchant']` unless given. */
  readonly key?: readonly string[];
  readonly layer?: Layer;
  readonly priority?: number;
  readonly limits?: readonly object[];
  readonly match?: { readonly methods?: readonly string[]; readonly paths?: readonly string[]; readonly all?: readonly object[] };
  readonly onStoreFailure?: 'open' | 'closed' | 'local' | 'leased';
  /** Everything else that the language has: see docs/rules.md. */
  readonly [field: string]: unknown;
}

/** What a rule is that says nothing else. Those of a route go before those of a whole service. */
interface Presets {
  readonly name?: string;
  readonly priority?: number;
  /** The rule is for this route only. */
  readonly route?: string;
}

/** At most an eighth of the window is forgotten too early, for the price of ten counters. See docs/algorithms.md. */
const PARTS = 8;

/** Ids of stored rules count up from 1, and get nowhere near. Below the end of the whole numbers of a double, as keys of buckets need it. */
const FIRST_ID = 2 ** 52;

/**
 * The rules as the limiter has them.
 *
 * @param at where each stands in the options, for messages
 * @throws OptionsError that names every wrong field
 */
export function rulesOfCode(rules: readonly CodeRule[], at: (index: number) => string, presets: Presets = {}): Rule[] {
  const faults: OptionFault[] = [];
  const made = rules.map((rule, i) => ruleOfCode(rule, at(i), presets, faults));
  if (faults.length > 0) throw new OptionsError(faults);
  return made as Rule[];
}

function ruleOfCode(rule: CodeRule, at: string, presets: Presets, faults: OptionFault[]): Rule | undefined {
  if (!isPlainObject(rule)) {
    faults.push({ at, detail: 'must be an object' });
    return undefined;
  }
  const whole = inFull(rule, presets);
  const found = faultsOf(whole);
  if (found.length > 0) {
    // Of a short rule, where it was written.
    const written =
      rule.limits === undefined ? found.map((each) => ({ ...each, pointer: each.pointer.replace('/limits/0/', '/') })) : found;
    faults.push(...placed(written, at));
    return undefined;
  }
  const { note: _note, labels: _labels, limits, ...spec } = completed(whole, RULE_FIELDS) as unknown as RuleSpec;
  // Full since always: a bucket that is missing is a full one.
  return { ...spec, limits: startLimits(limits, 0), id: idOf(spec.name, spec.key, limits, spec.penalty) };
}

function inFull(rule: CodeRule, { name, priority, route }: Presets): Readonly<Record<string, unknown>> {
  const { limit, windowMs, ...others } = rule;
  const short = limit === undefined && windowMs === undefined ? undefined : { limit, windowMs };
  return {
    ...(name !== undefined && { name }),
    ...(priority !== undefined && { priority }),
    layer: 'platform',
    ...others,
    // With limits as well, the short form is left where it is, for the fault.
    ...(short !== undefined &&
      (others.limits === undefined ? { limits: [{ name: 'window', algorithm: 'sliding_counter', parts: PARTS, ...short }] } : short)),
    ...(route !== undefined && { match: matchOfRoute(others.match, route) }),
  };
}

function matchOfRoute(match: unknown, route: string): unknown {
  const only = { field: `header.${ROUTE_HEADER}`, equals: route };
  if (match === undefined) return { all: [only] };
  if (!isPlainObject(match)) return match;
  const { all = [] } = match;
  return { ...match, all: Array.isArray(all) ? [only, ...(all as unknown[])] : all };
}

function faultsOf(written: Readonly<Record<string, unknown>>): readonly Fault[] {
  const faults = objectFaults(written, RULE_FIELDS, { pointer: '', code: 'rule' });
  return faults.length > 0 ? faults : writingFaults(completed(written, RULE_FIELDS) as unknown as RuleSpec);
}

/**
 * The same in every process that has the same rule, so that they share its buckets; another one as soon as its numbers or its key are others, because nobody remembers what
 * they were, and a bucket cannot be carried over.
 */
function idOf(...identity: readonly unknown[]): string {
  const digest = createHash('sha256').update(JSON.stringify(identity)).digest();
  // 51 bits: the sum is below 2^53.
  return String(FIRST_ID + Number(digest.readBigUInt64BE() >> 13n));
}
