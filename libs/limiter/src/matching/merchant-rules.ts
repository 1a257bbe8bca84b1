import { AskedRequest } from './asked-request.js';
import { inOrder, plainTake, type CompiledRule } from './compiled-rule.js';
import type { Descriptor } from './descriptor.js';
import { followsMerchant } from '../limits/limit.js';
import type { NamedRoutes } from '../rules/named-routes.js';
import { closedByNewerRules, type NewerRule } from '../rules/newer-rule.js';
import type { OverrideTime, RuleOverrides } from '../rules/override.js';
import type { Rule } from '../rules/rule.js';
import { firstMatch, layersOf, layerUnder, looksAtBody, mergedLayers, refusingBody, rulesOf, type RuleLayer } from './rule-matcher.js';
import type { RuleOrigin } from '../rules/rule-origin.js';
import { RuleTemplate } from './rule-template.js';
import type { BucketTake, MakeTake } from '../buckets/take.js';

/** The rules that a request has to obey. */
export interface ChosenRules {
  readonly enforced: readonly CompiledRule[];
  /** What the enforced rules take, in the order in which a store is asked, if that is the same for every request of the merchant. */
  readonly takes: readonly BucketTake[] | undefined;
  /** Evaluated beside the enforced ones; they neither displace one nor refuse anything. */
  readonly shadow: readonly CompiledRule[];
  /** Whether an enforced limit looks at the platform's spare capacity. */
  readonly elastic: boolean;
  /** A rule that only a newer version can read refuses what it may concern. */
  readonly closed: boolean;
  /** Whether what it costs depends on the request. */
  readonly priced: boolean;
  /** The rule that refuses the request because its body cannot be read. */
  readonly refusingBody: Rule | undefined;
}

/** The rules that concern one merchant: its own, those of its plan and the default ones. They never change: an edit makes a new object. */
export class MerchantRules {
  /** A merchant mostly sends the same request again, so its rules need not be matched again. */
  private lastMethod = '';
  private lastTarget = '';
  private lastChosen: ChosenRules | undefined = undefined;
  /** The rules that were chosen so far, if a request of this merchant takes the same from them each time. */
  private compiled: Map<RuleTemplate, CompiledRule> | undefined;
  private made = 0;

  constructor(
    readonly merchantId: string,
    /** Those that have rules. */
    readonly layers: readonly RuleLayer[],
    private readonly shape: RulesShape,
    private readonly makeTake: MakeTake,
    private readonly closing: NamedRoutes | undefined,
  ) {}

  /** How many takes are kept, because they are most of what a merchant in use costs in memory. */
  get takesMade(): number {
    return this.made;
  }

  /** In each layer the matching rule that is asked first, once among the enforced and once among the shadow rules. */
  choose(descriptor: Descriptor, nowMs: NowMs = noClock): ChosenRules {
    const { lastChosen } = this;
    const { method, target } = descriptor;
    if (lastChosen !== undefined && this.lastMethod === method && this.lastTarget === target) return lastChosen;
    const chosen = this.match(this.asked(descriptor, nowMs));
    if (this.shape.plain && target.length <= MOST_REMEMBERED) {
      this.lastMethod = method;
      this.lastTarget = target;
      this.lastChosen = chosen;
    }
    return chosen;
  }

  /** Whether some rule looks at bodies of requests. */
  get readBodies(): boolean {
    return this.shape.readsBody;
  }

  /** Whether a rule that may concern a request looks at its body, and nobody has read it yet. */
  needBody(descriptor: Descriptor, nowMs: NowMs = noClock): boolean {
    const { more } = descriptor;
    if (!this.shape.readsBody || more?.readBody === undefined || more.body !== undefined) return false;
    const request = this.asked(descriptor, nowMs);
    return this.layers.some((layer) => looksAtBody(layer, request));
  }

  /** A request as these rules are matched with it. */
  asked(descriptor: Descriptor, nowMs: NowMs = noClock): AskedRequest {
    const { timed, pathless } = this.shape;
    return new AskedRequest(descriptor, timed ? nowMs() : 0, pathless);
  }

  /** What any request of the merchant takes, by every rule for which that does not depend on the request. */
  takes(): readonly BucketTake[] {
    return this.layers.flatMap(rulesOf).flatMap((template) => this.takesOf(template));
  }

  private match(request: AskedRequest): ChosenRules {
    const found: RuleTemplate[] = [];
    const shadow: CompiledRule[] = [];
    for (const layer of this.layers) {
      const first = firstMatch(layer, 'enforce', request);
      if (first) found.push(first.takenBy(request));
      const firstShadow = firstMatch(layer, 'shadow', request);
      if (firstShadow) shadow.push(this.compile(firstShadow.takenBy(request)));
    }
    const takes = found.every(({ takesTheSame }) => takesTheSame) ? found.flatMap((template) => this.takesOf(template)) : undefined;
    const enforced = takes === undefined ? found.map((template) => this.compile(template)) : forAny(found);
    return {
      enforced,
      takes,
      shadow: shadow.length === 0 ? NO_RULES : shadow,
      elastic: enforced.some(({ elastic }) => elastic),
      closed: this.closing?.include(request.method, request.segments, request.ignoreCase) ?? false,
      priced: this.shape.priced && [...enforced, ...shadow].some(({ price }) => price !== undefined),
      refusingBody: this.shape.readsBody ? refusingBody(this.layers, request) : undefined,
    };
  }

  /** Nothing of a rule for which it depends on the request. */
  private takesOf(template: RuleTemplate): readonly BucketTake[] {
    const { takes } = this.compile(template);
    return takes === undefined ? [] : inOrder(takes);
  }

  private compile(template: RuleTemplate): CompiledRule {
    if (!template.takesTheSame) return template.compiledForAny;
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

const NO_RULES: readonly CompiledRule[] = [];

/** What all merchants share of these rules: most have one, and of what they share nothing has to be fetched from far memory for each of them. */
function forAny(templates: readonly RuleTemplate[]): readonly CompiledRule[] {
  return templates.length === 1 ? templates[0]!.aloneForAny : templates.map(({ compiledForAny }) => compiledForAny);
}

/** The time since 1970, in milliseconds. */
export type NowMs = () => number;

/** For rules that are known to depend on no time. */
const noClock: NowMs = () => {
  throw new Error('rules with a validity or a schedule need a clock');
};

/** Characters of a target: one is kept for each merchant. */
const MOST_REMEMBERED = 200;

/** What rules look at, all of them together. */
interface RulesShape {
  /** None looks at the path, so it is not taken apart. */
  readonly pathless: boolean;
  /** The method and the path alone say which apply. */
  readonly plain: boolean;
  /** Some apply at some times only. */
  readonly timed: boolean;
  /** Some look at the body of a request. */
  readonly readsBody: boolean;
  /** Of some the cost depends on the request. */
  readonly priced: boolean;
}

function shapeOf(templates: readonly RuleTemplate[]): RulesShape {
  return {
    pathless: templates.every(({ isPathless }) => isPathless),
    plain: templates.every(({ isPlain }) => isPlain),
    timed: templates.some(({ active }) => active !== undefined),
    readsBody: templates.some(({ readsBody }) => readsBody),
    priced: templates.some(({ rule }) => typeof rule.cost === 'object'),
  };
}

function bothShapes(a: RulesShape, b: RulesShape): RulesShape {
  return {
    pathless: a.pathless && b.pathless,
    plain: a.plain && b.plain,
    timed: a.timed || b.timed,
    readsBody: a.readsBody || b.readsBody,
    priced: a.priced || b.priced,
  };
}

/** What is the same for all merchants that have just these rules. */
interface SharedRules {
  readonly layers: readonly RuleLayer[];
  readonly shape: RulesShape;
}

/** A class of rules that keeps something more of each merchant. */
export type MerchantRulesClass<Rules extends MerchantRules> = new (...args: ConstructorParameters<typeof MerchantRules>) => Rules;

export interface MerchantRulesOptions<Rules extends MerchantRules = MerchantRules> {
  /** What is made; MerchantRules unless given. */
  readonly as?: MerchantRulesClass<Rules> | undefined;
  /** Of the merchant; Etc/UTC unless given. */
  readonly timeZone?: string | undefined;
  /** The rules of its plan: the same array for the same rules. */
  readonly plan?: readonly Rule[] | undefined;
  /** Makes the takes that are the same for every request of the merchant: those of the store that is going to be asked. */
  readonly makeTake?: MakeTake | undefined;
  /** Of the merchant, for any of these rules. */
  readonly overrides?: readonly RuleOverrides[] | undefined;
  /** When it is, for overrides. */
  readonly time?: OverrideTime | undefined;
  /** Own and default ones. */
  readonly newerRules?: readonly NewerRule[] | undefined;
}

/**
 * Compiles the rules of a merchant. Default rules and those of a plan are compiled once for each list and shared by all merchants: a merchant without
 * rules of its own shares the whole, one with own rules puts them between.
 *
 * @param defaults the same array for the same rules
 */
export function merchantRules<Rules extends MerchantRules = MerchantRules>(
  merchantId: string,
  own: readonly Rule[],
  defaults: readonly Rule[],
  options: MerchantRulesOptions<Rules> = {},
): Rules {
  const { as = MerchantRules as MerchantRulesClass<Rules>, timeZone, plan, makeTake = plainTake, overrides = NO_OVERRIDES } = options;
  const { time = ALWAYS, newerRules = [] } = options;
  const shared = plan === undefined ? defaultRules(defaults, timeZone) : planRules(plan, defaults, timeZone);
  const { layers, shape } = own.length === 0 ? shared : merged(templatesOf(own, 'own', timeZone), shared);
  const closing = newerRules.length === 0 ? undefined : closedByNewerRules(newerRules);
  return new as(
    merchantId,
    overrides.length === 0 ? layers : overriddenLayers(layers, overrides, time),
    closing === undefined ? shape : { ...shape, pathless: shape.pathless && closing.isPathless },
    makeTake,
    closing,
  );
}

const NO_OVERRIDES: readonly RuleOverrides[] = [];
/** For rules without overrides the time makes no difference. */
const ALWAYS: OverrideTime = { atMs: 0 };

/** Whosever the rules are: a rule that is overridden is another one for this merchant, and of the others nothing is copied. */
function overriddenLayers(layers: readonly RuleLayer[], overrides: readonly RuleOverrides[], time: OverrideTime): readonly RuleLayer[] {
  const byRule = new Map(overrides.map((each) => [each.ruleId, each]));
  const made = new Map<RuleTemplate, RuleTemplate>();
  const under = (template: RuleTemplate): RuleTemplate => {
    const its = byRule.get(template.rule.id);
    if (its === undefined) return template;
    // A rule that is enforced for a share of the keys stands among the shadow rules too, and is one rule.
    const known = made.get(template) ?? template.under(its, time);
    made.set(template, known);
    return known;
  };
  return layers.map((layer) => layerUnder(layer, under));
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
    return { layers: layersOf(templates), shape: shapeOf(templates) };
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
  if (byZone === undefined) {
    byZone = new Map<string, T>();
    all.set(rules, byZone);
  }
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
  return { layers: mergedLayers(templates, shared.layers), shape: bothShapes(shapeOf(templates), shared.shape) };
}

/** The time zone of a merchant if it makes a difference to these rules, otherwise an empty text. */
function zoneFor(rules: readonly Rule[], timeZone: string | undefined): string {
  return rules.some(dependsOnTimeZone) ? (timeZone ?? '') : '';
}

/** Whether it or a limit of it goes by the merchant's time zone, or a limit once did. */
function dependsOnTimeZone({ limits, schedule }: Rule): boolean {
  return (
    (schedule && schedule.timeZone === undefined) || limits.some((limit) => followsMerchant(limit) || limit.previous.some(followsMerchant))
  );
}

function templatesOf(rules: readonly Rule[], source: RuleOrigin, timeZone: string | undefined): RuleTemplate[] {
  return rules.filter(({ enabled }) => enabled).map((rule) => new RuleTemplate(rule, source, timeZone));
}
