import { bucketKey, isMerchantKeyed } from './bucket-key.js';
import type { Descriptor } from './descriptor.js';
import { followsMerchant } from './limit.js';
import { pathMatcher, pathSegments, type PathMatcher } from './path-pattern.js';
import type { BucketTake } from './ports.js';
import { LAYERS, type Layer, type Mode, type Rule } from './rule.js';
import { bucketOf, bucketOfPenalty, type Bucket } from './bucket.js';

/** The rules of a layer in the order in which they are asked: the first that matches is chosen. */
interface RuleLayer {
  readonly layer: Layer;
  readonly enforced: readonly CompiledRule[];
  readonly shadow: readonly CompiledRule[];
}

/**
 * The rules that concern one merchant, its own and the default ones, made ready for requests. The rules never change; what is
 * remembered of requests does, and only this file looks at it.
 */
export interface MerchantRules {
  readonly merchantId: string;
  /** Those that have rules. */
  readonly layers: readonly RuleLayer[];
  /** No rule looks at the path, so nobody needs to take it apart. */
  readonly pathless: boolean;
  /** What was chosen last: a merchant mostly asks for the same again. */
  lastChoice: Choice | undefined;
  /** The rules that were chosen so far, with the takes of this merchant. */
  ready: Map<CompiledRule, ReadyRule> | undefined;
  /** Takes in `ready`, because they are most of what a merchant in use costs in memory. */
  takesMade: number;
}

interface Choice {
  readonly method: string;
  readonly target: string;
  readonly chosen: ChosenRules;
}

/** A rule made ready for the requests of whatever merchant: there is nothing of a merchant in it, so that all share it. */
export class CompiledRule {
  readonly methods: readonly string[];
  readonly isMerchantKeyed: boolean;
  /** Whether a request holds slots that have to be released. */
  readonly holdsSlots: boolean;
  /** Whether it has limits that look at the platform's spare capacity. */
  readonly elastic: boolean;
  private matchers: readonly PathMatcher[] | undefined;
  private madeBuckets: readonly Bucket[] | undefined;
  private unkeyed: ReadyRule | undefined;

  constructor(
    readonly rule: Rule,
    readonly isOwn: boolean,
    private readonly timeZone: string | undefined,
  ) {
    this.methods = rule.match.methods;
    this.isMerchantKeyed = isMerchantKeyed(rule);
    this.holdsSlots = rule.limits.some(({ algorithm }) => algorithm === 'concurrency');
    this.elastic = rule.limits.some(({ throttle }) => throttle === 'elastic');
  }

  /** Made when a request first looks at them: most rules of most merchants are never asked. */
  get paths(): readonly PathMatcher[] {
    return (this.matchers ??= this.rule.match.paths.map(pathMatcher));
  }

  /** Of its limits, and behind them of its penalty, if it has one. Made when they are first used. */
  get buckets(): readonly Bucket[] {
    return (this.madeBuckets ??= bucketsOf(this.rule, this.timeZone));
  }

  /** For a merchant. Only a rule whose takes are the same for every request of the merchant has something to keep there. */
  readyFor(rules: MerchantRules): ReadyRule {
    if (!this.isMerchantKeyed) return (this.unkeyed ??= new ReadyRule(this, undefined));
    rules.ready ??= new Map();
    let ready = rules.ready.get(this);
    if (ready === undefined) {
      ready = new ReadyRule(this, newTakes(this.rule, this.buckets, { merchantId: rules.merchantId, ip: '', method: '', target: '' }));
      rules.ready.set(this, ready);
      rules.takesMade += this.buckets.length;
    }
    return ready;
  }
}

/** A compiled rule as it is asked by the requests of one merchant. */
export class ReadyRule {
  readonly rule: Rule;
  readonly buckets: readonly Bucket[];
  readonly holdsSlots: boolean;
  readonly elastic: boolean;

  constructor(
    compiled: CompiledRule,
    /** What a request takes, if that is the same for every request of the merchant. */
    readonly takes: readonly BucketTake[] | undefined,
  ) {
    this.rule = compiled.rule;
    this.buckets = compiled.buckets;
    this.holdsSlots = compiled.holdsSlots;
    this.elastic = compiled.elastic;
  }
}

/** What is the same for all merchants that have just these rules. */
interface CompiledRules {
  readonly layers: readonly RuleLayer[];
  readonly pathless: boolean;
}

/**
 * Compiles the rules of a merchant. Default rules are compiled once for each list and shared by all merchants: a merchant without
 * rules of its own shares the whole, one with own rules puts them between.
 *
 * @param defaults the same array for the same rules
 * @param timeZone of the merchant; Etc/UTC unless given
 */
export function merchantRules(merchantId: string, own: readonly Rule[], defaults: readonly Rule[], timeZone?: string): MerchantRules {
  const shared = sharedRules(defaults, timeZone);
  const { layers, pathless } = own.length === 0 ? shared : mergedRules(compiledEach(own, true, timeZone), shared);
  return { merchantId, layers, pathless, lastChoice: undefined, ready: undefined, takesMade: 0 };
}

/** By the list of default rules, then by time zone, if it makes a difference. A list that nobody holds any more goes, and all that was compiled from it. */
const SHARED = new WeakMap<readonly Rule[], Map<string, CompiledRules>>();
/** The IANA database has about six hundred names, and spellings of them are no reason to keep more. */
const MOST_TIME_ZONES = 1000;

function sharedRules(defaults: readonly Rule[], timeZone: string | undefined): CompiledRules {
  const zone = defaults.some(dependsOnTimeZone) ? (timeZone ?? '') : '';
  let byZone = SHARED.get(defaults);
  if (byZone === undefined) SHARED.set(defaults, (byZone = new Map()));
  let compiled = byZone.get(zone);
  if (compiled === undefined) {
    if (byZone.size >= MOST_TIME_ZONES) byZone.clear();
    compiled = compiledRules(compiledEach(defaults, false, zone === '' ? undefined : zone));
    byZone.set(zone, compiled);
  }
  return compiled;
}

/** Whether a limit of it goes by the merchant's time zone, or once did. */
function dependsOnTimeZone({ limits }: Rule): boolean {
  return limits.some((limit) => followsMerchant(limit) || limit.previous.some(followsMerchant));
}

function compiledEach(rules: readonly Rule[], isOwn: boolean, timeZone: string | undefined): CompiledRule[] {
  return rules.filter(({ enabled }) => enabled).map((rule) => new CompiledRule(rule, isOwn, timeZone));
}

function compiledRules(rules: readonly CompiledRule[]): CompiledRules {
  return {
    layers: LAYERS.flatMap((layer) =>
      layerOf(
        layer,
        rules.filter(({ rule }) => rule.layer === layer),
      ),
    ),
    pathless: rules.every(isPathless),
  };
}

/** Only the layers in which there are own rules are made anew, and of the shared rules nothing is copied. */
function mergedRules(own: readonly CompiledRule[], shared: CompiledRules): CompiledRules {
  const layers = LAYERS.flatMap((layer) => {
    const ownHere = own.filter(({ rule }) => rule.layer === layer);
    const sharedHere = shared.layers.filter((each) => each.layer === layer);
    return ownHere.length === 0
      ? sharedHere
      : layerOf(layer, [...ownHere, ...sharedHere.flatMap(({ enforced, shadow }) => [...enforced, ...shadow])]);
  });
  return { layers, pathless: shared.pathless && own.every(isPathless) };
}

function layerOf(layer: Layer, rules: readonly CompiledRule[]): RuleLayer[] {
  const inMode = (mode: Mode) => rules.filter(({ rule }) => rule.mode === mode).sort(inOrder);
  return rules.length === 0 ? [] : [{ layer, enforced: inMode('enforce'), shadow: inMode('shadow') }];
}

function isPathless({ rule }: CompiledRule): boolean {
  return rule.match.paths.length === 0;
}

/** The highest priority first, then the merchant's own, then the older. */
function inOrder(a: CompiledRule, b: CompiledRule): number {
  return b.rule.priority - a.rule.priority || Number(b.isOwn) - Number(a.isOwn) || compareIds(a.rule.id, b.rule.id);
}

/** Ids are decimal strings, the older the smaller. */
function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

function bucketsOf({ limits, penalty }: Rule, timeZone: string | undefined): readonly Bucket[] {
  const buckets = limits.map((limit) => bucketOf(limit, timeZone));
  if (penalty) buckets.push(bucketOfPenalty(penalty, buckets.length));
  return buckets;
}

/** What a request asks of the buckets of one rule. */
export function takesOf(ready: ReadyRule, descriptor: Descriptor): readonly BucketTake[] {
  return ready.takes ?? newTakes(ready.rule, ready.buckets, descriptor);
}

/** What any request of the merchant asks, by every rule for which that does not depend on the request. */
export function takesOfMerchant(rules: MerchantRules): readonly BucketTake[] {
  return rules.layers
    .flatMap(({ enforced, shadow }) => [...enforced, ...shadow])
    .flatMap((compiled) => compiled.readyFor(rules).takes ?? []);
}

function newTakes(rule: Rule, buckets: readonly Bucket[], descriptor: Descriptor): readonly BucketTake[] {
  return buckets.map((bucket, i) => ({
    key: bucketKey(rule, rule.limits[i]?.id ?? 'penalty', descriptor),
    bucket,
    cost: rule.cost,
    memo: undefined,
  }));
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
    if (chosen) enforced.push(chosen.readyFor(rules));
    const shadowed = firstMatch(layer.shadow, method, segments, ignoreCase);
    if (shadowed) shadow.push(shadowed.readyFor(rules));
  }
  return { enforced, shadow, elastic: enforced.some(({ elastic }) => elastic) };
}

const NO_SEGMENTS: readonly string[] = [];

/** HEAD asks for what GET would get, so it follows the rules for GET, unless one of these rules that concerns the path names HEAD. */
function firstMatch(
  rules: readonly CompiledRule[],
  method: string,
  segments: readonly string[],
  ignoreCase: boolean,
): CompiledRule | undefined {
  const concerns = ({ paths }: CompiledRule) => paths.length === 0 || paths.some((matches) => matches(segments, ignoreCase));
  const headIsGet = method === 'HEAD' && !rules.some((ready) => ready.methods.includes('HEAD') && concerns(ready));
  const asked = headIsGet ? 'GET' : method;
  for (const ready of rules) {
    if (ready.methods.length > 0 && !ready.methods.includes(asked)) continue;
    if (concerns(ready)) return ready;
  }
  return undefined;
}
