import { inOrder, plainTake, type CompiledRule } from './compiled-rule.js';
import type { Descriptor } from './descriptor.js';
import { followsMerchant } from './limit.js';
import { pathSegments } from './path-pattern.js';
import type { Rule } from './rule.js';
import { firstMatch, layersOf, mergedLayers, rulesOf, type RuleLayer } from './rule-matcher.js';
import { RuleTemplate, type RuleOrigin } from './rule-template.js';
import type { BucketTake, MakeTake } from './take.js';

/** The rules that a request has to obey. */
export interface ChosenRules {
  readonly enforced: readonly CompiledRule[];
  /** Evaluated beside the enforced ones; they neither displace one nor refuse anything. */
  readonly shadow: readonly CompiledRule[];
  /** Whether an enforced limit looks at the platform's spare capacity. */
  readonly elastic: boolean;
}

/** The rules that concern one merchant: its own, those of its plan and the default ones. They never change: an edit makes a new object. */
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
  /** The rules of its plan: the same array for the same rules. */
  readonly plan?: readonly Rule[] | undefined;
  /** Makes the takes that are the same for every request of the merchant: those of the store that is going to be asked. */
  readonly makeTake?: MakeTake | undefined;
}

/**
 * Compiles the rules of a merchant. Default rules and those of a plan are compiled once for each list and shared by all merchants: a merchant without
 * rules of its own shares the whole, one with own rules puts them between.
 *
 * @param defaults the same array for the same rules
 */
export function merchantRules(
  merchantId: string,
  own: readonly Rule[],
  defaults: readonly Rule[],
  { timeZone, plan, makeTake = plainTake }: MerchantRulesOptions = {},
): MerchantRules {
  const shared = plan === undefined ? defaultRules(defaults, timeZone) : planRules(plan, defaults, timeZone);
  if (own.length === 0) return new MerchantRules(merchantId, shared.layers, shared.pathless, makeTake);
  const { layers, pathless } = merged(templatesOf(own, 'own', timeZone), shared);
  return new MerchantRules(merchantId, layers, pathless, makeTake);
}

/** The IANA database has about six hundred names, and spellings of them are no reason to keep more. */
const MOST_TIME_ZONES = 1000;

/** What is made of a list of rules, by time zone. A list that is no longer in use goes, and all that was compiled from it. */
type ByList<T> = WeakMap<readonly Rule[], Map<string, T>>;

const DEFAULTS: ByList<SharedRules> = new WeakMap();
const PLAN_TEMPLATES: ByList<readonly RuleTemplate[]> = new WeakMap();
/** With the default rules that they were merged with, which are the same for all merchants until they are edited. */
const PLANS: ByList<{ readonly defaults: readonly Rule[]; readonly shared: SharedRules }> = new WeakMap();

function defaultRules(defaults: readonly Rule[], timeZone: string | undefined): SharedRules {
  const zone = zoneFor(defaults, timeZone);
  return kept(DEFAULTS, defaults, zone, () => {
    const templates = templatesOf(defaults, 'default', zone === '' ? undefined : zone);
    return { layers: layersOf(templates), pathless: templates.every(({ isPathless }) => isPathless) };
  });
}

function planRules(plan: readonly Rule[], defaults: readonly Rule[], timeZone: string | undefined): SharedRules {
  const planZone = zoneFor(plan, timeZone);
  // A zone in which neither makes a difference is none.
  const zone = planZone === '' ? zoneFor(defaults, timeZone) : planZone;
  const merge = () => {
    const templates = kept(PLAN_TEMPLATES, plan, planZone, () => templatesOf(plan, 'plan', planZone === '' ? undefined : planZone));
    return { defaults, shared: merged(templates, defaultRules(defaults, timeZone)) };
  };
  const found = kept(PLANS, plan, zone, merge);
  if (found.defaults === defaults) return found.shared;
  PLANS.get(plan)!.delete(zone);
  return kept(PLANS, plan, zone, merge).shared;
}

function kept<T>(all: ByList<T>, rules: readonly Rule[], zone: string, make: () => T): T {
  let byZone = all.get(rules);
  if (byZone === undefined) all.set(rules, (byZone = new Map()));
  let found = byZone.get(zone);
  if (found === undefined) {
    if (byZone.size >= MOST_TIME_ZONES) byZone.clear();
    found = make();
    byZone.set(zone, found);
  }
  return found;
}

function merged(templates: readonly RuleTemplate[], shared: SharedRules): SharedRules {
  if (templates.length === 0) return shared;
  return { layers: mergedLayers(templates, shared.layers), pathless: shared.pathless && templates.every(({ isPathless }) => isPathless) };
}

/** The time zone of a merchant if it makes a difference to these rules, otherwise an empty text. */
function zoneFor(rules: readonly Rule[], timeZone: string | undefined): string {
  return rules.some(dependsOnTimeZone) ? (timeZone ?? '') : '';
}

/** Whether a limit of it goes by the merchant's time zone, or once did. */
function dependsOnTimeZone({ limits }: Rule): boolean {
  return limits.some((limit) => followsMerchant(limit) || limit.previous.some(followsMerchant));
}

function templatesOf(rules: readonly Rule[], source: RuleOrigin, timeZone: string | undefined): RuleTemplate[] {
  return rules.filter(({ enabled }) => enabled).map((rule) => new RuleTemplate(rule, source, timeZone));
}
