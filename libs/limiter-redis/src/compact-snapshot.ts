import {
  isPlainObject,
  languageOf,
  type Limit,
  type LimitStart,
  type MerchantSnapshot,
  type NewerRule,
  type PastLimit,
  type Rule,
} from '#limiter';

/**
 * The third format of merchants' snapshots: short names, and what nearly every rule has is left out. It says nothing that the second
 * does not say, so reading is renaming, which judges nothing: what comes out is checked as the second format is. The version stands only in front of the JSON,
 * the merchant only in the key.
 *
 * Names and omitted values belong to the format: a default of the language that changes must not change what is stored already. A field without a short name
 * stands under its own, so that the language grows without touching this file.
 */
export const COMPACT_FORMAT = 3;

const DIGITS = /^\d+$/;

const LAYER = 'merchant';
const PRIORITY = 100;
const MODE = 'enforce';
const KEY = 'merchant';
const COST = 1;
const ON_STORE_FAILURE = 'local';
const ALGORITHM = 'token_bucket';
const REFILL = 'greedy';
const THROTTLE = 'hard';
const ON_EDIT = 'as_is';
const TIME_ZONE = 'UTC';

type Fields = Readonly<Record<string, unknown>>;

/** JSON leaves out what is undefined. */
function unless<T>(value: T, usual: T): T | undefined {
  return value === usual ? undefined : value;
}

/** The same for a field that may be missing, which is not the usual value: null in JSON. */
function unlessOrNone<T>(value: T | undefined, usual: T): T | null | undefined {
  return value === undefined ? null : unless(value, usual);
}

function orNone<T>(value: T | null): T | undefined {
  return value === null ? undefined : value;
}

/** For JSON. A merchant with default rules alone is `{"format":3}`. */
export function compacted(snapshot: MerchantSnapshot): object {
  const { plan, exists, timeZone, rules, newerRules = [], overrides } = snapshot;
  const all = [...rules.map((rule) => compactRule(rule, languageOf(rule))), ...newerRules.map((rule) => compactRule(rule, rule.language))];
  return {
    format: COMPACT_FORMAT,
    x: unless(exists, true),
    z: unless(timeZone, TIME_ZONE),
    plan,
    r: all.length > 0 ? all : undefined,
    overrides,
  };
}

/** The fields of the second format. @param version the digits in front of the JSON */
export function expanded(fields: Fields, version: string, merchantId: string): Fields {
  const { x = true, z = TIME_ZONE, plan, r = [], overrides } = fields;
  return {
    merchantId,
    version: DIGITS.test(version) ? Number(version) : undefined,
    exists: x,
    timeZone: z,
    plan,
    rules: each(r, expandedRule),
    overrides,
  };
}

/** What is no object, or no list of them, stays what it is: whoever checks it says what is wrong. */
function each(value: unknown, expand: (fields: Fields) => object): unknown {
  return Array.isArray(value) ? value.map((item: unknown) => (isPlainObject(item) ? expand(item) : item)) : value;
}

/** Of a rule that only a newer version can read, what is known. */
export function compactRule(rule: Rule | NewerRule, language: number): object {
  const { id, name, layer, priority, enabled, mode, match, key, limits, cost, onStoreFailure, ...others } = rule as Rule;
  return {
    i: id,
    v: unless(language, 1),
    n: name,
    y: unless(layer, LAYER),
    p: unless(priority, PRIORITY),
    e: unless(enabled, true),
    m: unless(mode, MODE),
    w: compactMatch(match),
    k: key?.length === 1 && key[0] === KEY ? undefined : key,
    l: limits?.map(compactLimit),
    c: unless(cost, COST),
    f: unless(onStoreFailure, ON_STORE_FAILURE),
    ...others,
    language: undefined,
  };
}

function expandedRule(fields: Fields): object {
  const {
    i,
    v = 1,
    n,
    y = LAYER,
    p = PRIORITY,
    e = true,
    m = MODE,
    w = {},
    k = [KEY],
    l,
    c = COST,
    f = ON_STORE_FAILURE,
    ...others
  } = fields;
  return {
    ...others,
    id: i,
    language: v,
    name: n,
    layer: y,
    priority: p,
    enabled: e,
    mode: m,
    match: isPlainObject(w) ? expandedMatch(w) : w,
    key: k,
    limits: each(l, expandedLimit),
    cost: c,
    onStoreFailure: f,
  };
}

function compactMatch({ methods, paths, all, ...others }: Rule['match']): object | undefined {
  const some = <T>(list: readonly T[]): readonly T[] | undefined => (list.length > 0 ? list : undefined);
  const match = { m: some(methods), p: some(paths), a: all, ...others };
  return Object.values(match).every((part) => part === undefined) ? undefined : match;
}

function expandedMatch(fields: Fields): object {
  const { m = [], p = [], a, ...others } = fields;
  return { ...others, methods: m, paths: p, all: a };
}

/** One of now, or one of before, which has neither name nor id. */
function compactLimit(limit: Limit | PastLimit): object {
  const {
    name,
    algorithm,
    capacity,
    refillTokens,
    refillIntervalMs,
    refill,
    limit: most,
    windowMs,
    onEdit,
    throttle,
    id,
    generation,
    since,
    previous,
    ...others
  } = limit as unknown as Partial<Record<string, unknown>> & Limit;
  return {
    n: name,
    a: unless(algorithm, ALGORITHM),
    c: capacity,
    t: refillTokens,
    i: refillIntervalMs,
    r: algorithm === ALGORITHM ? unless(refill, REFILL) : refill,
    l: most,
    w: windowMs,
    e: unlessOrNone(onEdit, ON_EDIT),
    h: unlessOrNone(throttle, THROTTLE),
    d: unless(id, 0),
    g: unless(generation, 0),
    s: compactStart(since),
    p: previous && previous.length > 0 ? previous.map(compactLimit) : undefined,
    ...others,
  };
}

function expandedLimit(fields: Fields): object {
  const {
    n,
    a = ALGORITHM,
    c,
    t,
    i,
    r = a === ALGORITHM ? REFILL : undefined,
    l,
    w,
    e = ON_EDIT,
    h = THROTTLE,
    d = 0,
    g = 0,
    s,
    p = [],
    ...others
  } = fields;
  return {
    ...others,
    name: n,
    algorithm: a,
    capacity: c,
    refillTokens: t,
    refillIntervalMs: i,
    refill: r,
    limit: l,
    windowMs: w,
    onEdit: orNone(e),
    throttle: orNone(h),
    id: d,
    generation: g,
    since: expandedStart(s),
    previous: each(p, expandedLimit),
  };
}

function compactStart({ atMs, tokens, fraction }: LimitStart): readonly number[] {
  return fraction ? [atMs, tokens, fraction.part, fraction.of] : [atMs, tokens];
}

function expandedStart(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const [atMs, tokens, part, of] = value as unknown[];
  return { atMs, tokens, ...(value.length > 2 && { fraction: { part, of } }) };
}
