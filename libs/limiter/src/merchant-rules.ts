import { inOrder, plainTake, type CompiledRule } from './compiled-rule.js';
import type { Descriptor } from './descriptor.js';
import { followsMerchant } from './limit.js';
import type { OverrideTime, RuleOverrides } from './override.js';
import { pathSegments } from './path-pattern.js';
import type { Rule } from './rule.js';
import { firstMatch, layersOf, mergedLayers, rulesOf, type RuleLayer } from './rule-matcher.js';
import { RuleTemplate } from './rule-template.js';
import type { BucketTake, MakeTake } from './take.js';

/** The rules that a request has to obey. */
export interface ChosenRules {
  readonly enforced: readonly CompiledRule[];
  /** Evaluated beside the enforced ones; they neither displace one nor refuse anything. */
  readonly shadow: readonly CompiledRule[];
  /** Whether an enforced limit looks at the platform's spare capacity. */
  readonly elastic: boolean;
}

/** The rules that concern one merchant, its own and the default ones. They never change: an edit makes a new object. */
export class MerchantRules {
  /** A merchant mostly sends the same request again, so its rules need not be matched again. */
  private last: { readonly method: string; readonly target: string; readonly chosen: ChosenRules } | undefined;
  /** The rules that were chosen so far, if a request of this merchant takes the same from them each time. */
  private compiled: Map<RuleTemplate, CompiledRule> | undefined;
  private made = 0;

  constructor(
    readonly merchantId: string,
    /** Those that have rules. */
    readonly layers: readonly RuleLayer[],
    /** No rule looks at the path, so it is not taken apart. */
    private readonly pathless: boolean,
    private readonly makeTake: MakeTake,
  ) {}

  /** How many takes are kept, because they are most of what a merchant in use costs in memory. */
  get takesMade(): number {
    return this.made;
  }

  /** In each layer the matching rule that is asked first, once among the enforced and once among the shadow rules. */
  choose({ method, target, ignorePathCase = false }: Descriptor): ChosenRules {
    const { last } = this;
    if (last !== undefined && last.method === method && last.target === target) return last.chosen;
    const chosen = this.match(method, target, ignorePathCase);
    if (target.length <= MOST_REMEMBERED) this.last = { method, target, chosen };
    return chosen;
  }

  /** What any request of the merchant takes, by every rule for which that does not depend on the request. */
  takes(): readonly BucketTake[] {
    return this.layers.flatMap(rulesOf).flatMap((template) => {
      const { takes } = this.compile(template);
      return takes === undefined ? [] : inOrder(takes);
    });
  }

  private match(method: string, target: string, ignoreCase: boolean): ChosenRules {
    const segments = this.pathless ? NO_SEGMENTS : pathSegments(target, ignoreCase);
    const enforced: CompiledRule[] = [];
    const shadow: CompiledRule[] = [];
    for (const layer of this.layers) {
      const first = firstMatch(layer.enforced, method, segments, ignoreCase);
      if (first) enforced.push(this.compile(first));
      const firstShadow = firstMatch(layer.shadow, method, segments, ignoreCase);
      if (firstShadow) shadow.push(this.compile(firstShadow));
    }
    return { enforced, shadow, elastic: enforced.some(({ elastic }) => elastic) };
  }

  private compile(template: RuleTemplate): CompiledRule {
    if (!template.isMerchantKeyed) return template.compiledForAny;
    this.compiled ??= new Map();
    let compiled = this.compiled.get(template);
    if (compiled === undefined) {
      compiled = template.compiledFor(this.merchantId, this.makeTake);
      this.compiled.set(template, compiled);
      this.made += inOrder(compiled.takes!).length;
    }
    return compiled;
  }
}

const NO_SEGMENTS: readonly string[] = [];
/** Characters of a target: one is kept for each merchant. */
const MOST_REMEMBERED = 200;

/** What is the same for all merchants that have just these rules. */
interface SharedRules {
  readonly layers: readonly RuleLayer[];
  readonly pathless: boolean;
}

export interface MerchantRulesOptions {
  /** Of the merchant; Etc/UTC unless given. */
  readonly timeZone?: string | undefined;
  /** Makes the takes that are the same for every request of the merchant: those of the store that is going to be asked. */
  readonly makeTake?: MakeTake | undefined;
  /** Of the merchant, for any of these rules. */
  readonly overrides?: readonly RuleOverrides[] | undefined;
  /** When it is, for overrides. */
  readonly time?: OverrideTime | undefined;
}

/**
 * Compiles the rules of a merchant. Default rules are compiled once for each list and shared by all merchants: a merchant without
 * rules of its own shares the whole, one with own rules puts them between.
 *
 * @param defaults the same array for the same rules
 */
export function merchantRules(
  merchantId: string,
  own: readonly Rule[],
  defaults: readonly Rule[],
  { timeZone, makeTake = plainTake, overrides = NO_OVERRIDES, time = ALWAYS }: MerchantRulesOptions = {},
): MerchantRules {
  const shared = sharedRules(defaults, timeZone);
  const templates = templatesOf(own, true, timeZone);
  const layers = own.length === 0 ? shared.layers : mergedLayers(templates, shared.layers);
  return new MerchantRules(
    merchantId,
    overrides.length === 0 ? layers : overriddenLayers(layers, overrides, time),
    shared.pathless && templates.every(({ isPathless }) => isPathless),
    makeTake,
  );
}

const NO_OVERRIDES: readonly RuleOverrides[] = [];
/** For rules without overrides the time makes no difference. */
const ALWAYS: OverrideTime = { atMs: 0 };

/** Whosever the rules are: a rule that is overridden is another one for this merchant, and of the others nothing is copied. */
function overriddenLayers(layers: readonly RuleLayer[], overrides: readonly RuleOverrides[], time: OverrideTime): readonly RuleLayer[] {
  const byRule = new Map(overrides.map((each) => [each.ruleId, each]));
  const under = (template: RuleTemplate): RuleTemplate => {
    const its = byRule.get(template.rule.id);
    return its === undefined ? template : template.under(its, time);
  };
  return layers.map((layer) => ({ ...layer, enforced: layer.enforced.map(under), shadow: layer.shadow.map(under) }));
}

/** By the list of default rules, then by time zone, if it makes a difference. A list that is no longer in use goes, and all that was compiled from it. */
const SHARED = new WeakMap<readonly Rule[], Map<string, SharedRules>>();
/** The IANA database has about six hundred names, and spellings of them are no reason to keep more. */
const MOST_TIME_ZONES = 1000;

function sharedRules(defaults: readonly Rule[], timeZone: string | undefined): SharedRules {
  const zone = defaults.some(dependsOnTimeZone) ? (timeZone ?? '') : '';
  let byZone = SHARED.get(defaults);
  if (byZone === undefined) SHARED.set(defaults, (byZone = new Map()));
  let shared = byZone.get(zone);
  if (shared === undefined) {
    if (byZone.size >= MOST_TIME_ZONES) byZone.clear();
    const templates = templatesOf(defaults, false, zone === '' ? undefined : zone);
    shared = { layers: layersOf(templates), pathless: templates.every(({ isPathless }) => isPathless) };
    byZone.set(zone, shared);
  }
  return shared;
}

/** Whether a limit of it goes by the merchant's time zone, or once did. */
function dependsOnTimeZone({ limits }: Rule): boolean {
  return limits.some((limit) => followsMerchant(limit) || limit.previous.some(followsMerchant));
}

function templatesOf(rules: readonly Rule[], isOwn: boolean, timeZone: string | undefined): RuleTemplate[] {
  return rules.filter(({ enabled }) => enabled).map((rule) => new RuleTemplate(rule, isOwn, timeZone));
}
