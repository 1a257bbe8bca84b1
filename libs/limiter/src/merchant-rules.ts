import { bucketKey, isMerchantKeyed } from './bucket-key.js';
import type { Descriptor } from './descriptor.js';
import { pathMatcher, pathSegments, type PathMatcher } from './path-pattern.js';
import type { BucketTake } from './ports.js';
import { LAYERS, type Layer, type Mode, type Rule } from './rule.js';
import { bucketOf, bucketOfPenalty, type Bucket } from './bucket.js';

/** The rules that concern one merchant, its own and the default ones, made ready for requests. Immutable. */
export interface MerchantRules {
  readonly merchantId: string;
  /** For each layer that has rules: in the order in which they are asked, the first that matches is chosen. */
  readonly layers: readonly { readonly enforced: readonly ReadyRule[]; readonly shadow: readonly ReadyRule[] }[];
  /** No rule looks at the path, so nobody needs to take it apart. */
  readonly pathless: boolean;
  /** What was chosen last: a merchant mostly asks for the same again. Only `chooseRules` looks at it. */
  lastChoice: Choice | undefined;
}

interface Choice {
  readonly method: string;
  readonly target: string;
  readonly chosen: ChosenRules;
}

export interface ReadyRule {
  readonly rule: Rule;
  readonly methods: readonly string[];
  readonly paths: readonly PathMatcher[];
  /** Of its limits, and behind them of its penalty, if it has one. */
  readonly buckets: readonly Bucket[];
  /** What a request takes, if that is the same for every request of the merchant. */
  readonly takes: readonly BucketTake[] | undefined;
  /** Whether a request holds slots that have to be released. */
  readonly holdsSlots: boolean;
  /** Whether it has limits that look at the platform's spare capacity. */
  readonly elastic: boolean;
}

/**
 * Compiles the rules.
 *
 * @param timeZone of the merchant; Etc/UTC unless given
 */
export function merchantRules(merchantId: string, own: readonly Rule[], defaults: readonly Rule[], timeZone?: string): MerchantRules {
  const candidates = [
    ...own.map((rule) => ({ rule, own: true })),
    ...defaults.map((rule) => ({ rule, own: false })),
  ].filter(({ rule }) => rule.enabled);
  candidates.sort((a, b) => b.rule.priority - a.rule.priority || Number(b.own) - Number(a.own) || compareIds(a.rule.id, b.rule.id));
  const ready = candidates.map(({ rule }) => readyRule(merchantId, rule, timeZone));
  const of = (layer: Layer, mode: Mode) => ready.filter(({ rule }) => rule.layer === layer && rule.mode === mode);
  return {
    merchantId,
    layers: LAYERS.map((layer) => ({ enforced: of(layer, 'enforce'), shadow: of(layer, 'shadow') })).filter(
      ({ enforced, shadow }) => enforced.length + shadow.length > 0,
    ),
    pathless: ready.every(({ paths }) => paths.length === 0),
    lastChoice: undefined,
  };
}

/** Ids are decimal strings, the older the smaller. */
function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

function readyRule(merchantId: string, rule: Rule, timeZone: string | undefined): ReadyRule {
  const buckets = rule.limits.map((limit) => bucketOf(limit, timeZone));
  if (rule.penalty) buckets.push(bucketOfPenalty(rule.penalty, buckets.length));
  const ready = { rule, methods: rule.match.methods, paths: rule.match.paths.map(pathMatcher), buckets, takes: undefined, 
    holdsSlots: buckets.some(({ kind }) => kind === 'concurrency'), elastic: buckets.some(({ elastic }) => elastic),
  };
  if (!isMerchantKeyed(rule)) return ready;
  return { ...ready, takes: takesOf(ready, { merchantId, ip: '', method: '', target: '' }) };
}

/** What a request asks of the buckets of one rule. */
export function takesOf(ready: ReadyRule, descriptor: Descriptor): readonly BucketTake[] {
  return (
    ready.takes ??
    ready.buckets.map((bucket, i) => ({
      key: bucketKey(ready.rule, ready.rule.limits[i]?.id ?? 'penalty', descriptor),
      bucket,
      cost: ready.rule.cost,
      memo: undefined,
    }))
  );
}

export interface ChosenRules {
  readonly enforced: readonly ReadyRule[];
  /** Evaluated beside the enforced ones; they neither displace one nor refuse anything. */
  readonly shadow: readonly ReadyRule[];
  /** Whether an enforced limit looks at the platform's spare capacity. */
  readonly elastic: boolean;
}

/** In each layer the matching rule that is asked first, once among the enforced and once among the shadow rules. */
export function chooseRules(rules: MerchantRules, { method, target, ignorePathCase = false }: Descriptor): ChosenRules {
  const last = rules.lastChoice;
  if (last !== undefined && last.method === method && last.target === target) return last.chosen;
  const chosen = chosenFor(rules, method, target, ignorePathCase);
  if (target.length <= MOST_REMEMBERED) rules.lastChoice = { method, target, chosen };
  return chosen;
}

/** Characters of a target: one is kept for each merchant. */
const MOST_REMEMBERED = 200;

function chosenFor(rules: MerchantRules, method: string, target: string, ignoreCase: boolean): ChosenRules {
  const segments = rules.pathless ? NO_SEGMENTS : pathSegments(target, ignoreCase);
  const enforced: ReadyRule[] = [];
  const shadow: ReadyRule[] = [];
  for (const layer of rules.layers) {
    const chosen = firstMatch(layer.enforced, method, segments, ignoreCase);
    if (chosen) enforced.push(chosen);
    const shadowed = firstMatch(layer.shadow, method, segments, ignoreCase);
    if (shadowed) shadow.push(shadowed);
  }
  return { enforced, shadow, elastic: enforced.some(({ elastic }) => elastic) };
}

const NO_SEGMENTS: readonly string[] = [];

/** HEAD asks for what GET would get, so it follows the rules for GET, unless one of these rules that concerns the path names HEAD. */
function firstMatch(rules: readonly ReadyRule[], method: string, segments: readonly string[], ignoreCase: boolean): ReadyRule | undefined {
  const concerns = ({ paths }: ReadyRule) => paths.length === 0 || paths.some((matches) => matches(segments, ignoreCase));
  const headIsGet = method === 'HEAD' && !rules.some((ready) => ready.methods.includes('HEAD') && concerns(ready));
  const asked = headIsGet ? 'GET' : method;
  for (const ready of rules) {
    if (ready.methods.length > 0 && !ready.methods.includes(asked)) continue;
    if (concerns(ready)) return ready;
  }
  return undefined;
}
