import type { AskedRequest } from './asked-request.js';
import { isMerchantKeyed } from './bucket-key.js';
import { compiledCharge, type CompiledCharge } from './charge.js';
import { compiledConditions, type CompiledCondition } from './conditions/compiled-condition.js';
import { priceOf, type Price } from './cost.js';
import type { Descriptor } from './descriptor.js';
import { modeOf, type EffectiveMode } from './enforced-share.js';
import { bucketsOf, bucketsWithholding, newTakes, type CompiledRule, type RuleBuckets } from './compiled-rule.js';
import { activeOverride, canBeOverridden, ruleUnder, type OverridePeriod, type OverrideTime, type RuleOverrides } from './override.js';
import type { RuleOrigin } from './rule-origin.js';
import { pathMatcher, type PathMatcher } from './path-pattern.js';
import { reserveOf, type Reserve } from './reserve.js';
import type { Rule } from './rule.js';
import { readsBody } from './rule-language.js';
import { activeTimes, type ActiveTimes } from './schedule/active-times.js';
import type { MakeTake } from './take.js';

/** The part of a compiled rule in which there is nothing of a merchant, so that all merchants share that of a default rule, and those of a plan that of its rules. */
export class RuleTemplate {
  /** Whether all requests of a merchant take the same. */
  readonly takesTheSame: boolean;
  /** Whether it has to be asked with the body of the request. */
  readonly readsBody: boolean;
  /** Undefined: the cost is a number. */
  private readonly price: Price | undefined;
  private readonly holdsSlots: boolean;
  private readonly elastic: boolean;
  /** When it applies; undefined: always. */
  readonly active: ActiveTimes | undefined;
  private madeConditions: CompiledCondition | undefined;
  private matchers: readonly PathMatcher[] | undefined;
  private madeBuckets: RuleBuckets | undefined;
  private madeCharge: CompiledCharge | undefined;
  private ofAnyMerchant: CompiledRule | undefined;
  private aloneOfAnyMerchant: readonly CompiledRule[] | undefined;
  /** What it keeps for some of its routes; undefined: nothing. */
  private readonly reserve: Reserve | undefined;
  private madeForOthers: RuleTemplate | undefined;

  constructor(
    readonly rule: Rule,
    readonly source: RuleOrigin,
    private readonly timeZone: string | undefined,
    /** The override that is in force. */
    readonly override?: OverridePeriod,
    /** The rule as those find it for whom some of it is kept. This is the same for all others. */
    private readonly whole?: RuleTemplate,
  ) {
    this.price = typeof rule.cost === 'object' ? priceOf(rule.cost) : undefined;
    this.takesTheSame = isMerchantKeyed(rule) && this.price === undefined;
    this.readsBody = readsBody(rule);
    this.holdsSlots = rule.limits.some(({ algorithm }) => algorithm === 'concurrency');
    this.elastic = rule.limits.some(({ throttle }) => throttle === 'elastic');
    this.active = activeTimes(rule, timeZone);
    this.reserve = reserveOf(rule.reserve);
  }

  /** By what a request takes that the rule concerns. */
  takenBy({ method, segments, ignoreCase }: AskedRequest): RuleTemplate {
    if (this.reserve === undefined || this.reserve.routes.include(method, segments, ignoreCase)) return this;
    const { rule, source, timeZone, override } = this;
    return (this.madeForOthers ??= new RuleTemplate(rule, source, timeZone, override, this));
  }

  /** The same under the overrides that it has for one merchant. */
  under(overrides: RuleOverrides, time: OverrideTime): RuleTemplate {
    if (!canBeOverridden(this.rule, this.source)) return this;
    const rule = ruleUnder(this.rule, overrides, time, this.timeZone);
    return new RuleTemplate(rule, this.source, this.timeZone, activeOverride(overrides, time.atMs));
  }

  /** Whether it makes no difference to the rule on which path a request is. */
  get isPathless(): boolean {
    return this.concernsAnyPath && (this.reserve?.routes.isPathless ?? true);
  }

  private get concernsAnyPath(): boolean {
    return this.rule.match.paths.length === 0;
  }

  /** Whether the method and the path alone say that it applies, whenever and to whomever. */
  get isPlain(): boolean {
    return this.active === undefined && !this.hasConditions && typeof this.rule.mode === 'string' && !this.refusesUnreadable;
  }

  /** Whether it refuses requests whose body cannot be read. */
  get refusesUnreadable(): boolean {
    return this.rule.onUnreadableBody === 'refuse';
  }

  private get hasConditions(): boolean {
    return (this.rule.match.all ?? []).length > 0;
  }

  /** Made when they are first asked; undefined if there are none. */
  get conditions(): CompiledCondition | undefined {
    return this.hasConditions ? (this.madeConditions ??= compiledConditions(this.rule.match.all!)) : undefined;
  }

  /** In which mode it may be among the rules that are asked, for one request or another. */
  mayBe(mode: EffectiveMode): boolean {
    return typeof this.rule.mode === 'string' ? this.rule.mode === mode : true;
  }

  /** In which mode it is for a request. */
  modeFor(descriptor: Descriptor): EffectiveMode {
    return modeOf(this.rule, descriptor);
  }

  /** Made when a request first looks at the paths: most rules of most merchants are never asked. */
  concerns(segments: readonly string[], ignoreCase: boolean): boolean {
    if (this.concernsAnyPath) return true;
    this.matchers ??= this.rule.match.paths.map(pathMatcher);
    return this.matchers.some((matches) => matches(segments, ignoreCase));
  }

  private get charge(): CompiledCharge | undefined {
    return (this.madeCharge ??= compiledCharge(this.rule.charge));
  }

  /** Made when they are first used. */
  private get buckets(): RuleBuckets {
    return (this.madeBuckets ??=
      this.whole === undefined
        ? bucketsOf(this.rule, this.timeZone)
        : bucketsWithholding(this.whole.buckets, this.rule, this.withheldPercent));
  }

  private get withheldPercent(): number {
    return this.whole === undefined ? 0 : this.reserve!.percent;
  }

  /** For a merchant of whose requests all take the same. */
  compiledFor(merchantId: string, makeTake: MakeTake): CompiledRule {
    const { rule, buckets } = this;
    const takes = newTakes(rule, buckets, { merchantId, ip: '', method: '', target: '' }, rule.cost as number, makeTake);
    return this.compiledWith(takes);
  }

  /** Without what is kept for one merchant. */
  get compiledForAny(): CompiledRule {
    return (this.ofAnyMerchant ??= this.compiledWith(undefined));
  }

  /** The same, as the only rule of a request. */
  get aloneForAny(): readonly CompiledRule[] {
    return (this.aloneOfAnyMerchant ??= [this.compiledForAny]);
  }

  private compiledWith(takes: CompiledRule['takes']): CompiledRule {
    const { rule, buckets, price, charge, holdsSlots, elastic, withheldPercent } = this;
    return { rule, origin: this.source, buckets, takes, price, unitsPerToken: 1, charge, holdsSlots, elastic, withheldPercent };
  }
}
