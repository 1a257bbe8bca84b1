import { isMerchantKeyed } from './bucket-key.js';
import { bucketsOf, newTakes, type CompiledRule, type RuleBuckets } from './compiled-rule.js';
import { pathMatcher, type PathMatcher } from './path-pattern.js';
import type { Rule } from './rule.js';
import type { MakeTake } from './take.js';

/** Whose rule it is: the merchant's own, its plan's, or one for all. On a tie of priorities they are asked in this order. */
export const RULE_ORIGINS = ['own', 'plan', 'default'] as const;
export type RuleOrigin = (typeof RULE_ORIGINS)[number];

/** The part of a compiled rule in which there is nothing of a merchant, so that all merchants share that of a default rule, and those of a plan that of its rules. */
export class RuleTemplate {
  /** Whether the buckets of a merchant are the same for all of its requests. */
  readonly isMerchantKeyed: boolean;
  private readonly holdsSlots: boolean;
  private readonly elastic: boolean;
  private matchers: readonly PathMatcher[] | undefined;
  private madeBuckets: RuleBuckets | undefined;
  private ofAnyMerchant: CompiledRule | undefined;

  constructor(
    readonly rule: Rule,
    readonly source: RuleOrigin,
    private readonly timeZone: string | undefined,
  ) {
    this.isMerchantKeyed = isMerchantKeyed(rule);
    this.holdsSlots = rule.limits.some(({ algorithm }) => algorithm === 'concurrency');
    this.elastic = rule.limits.some(({ throttle }) => throttle === 'elastic');
  }

  get isPathless(): boolean {
    return this.rule.match.paths.length === 0;
  }

  /** Made when a request first looks at the paths: most rules of most merchants are never asked. */
  concerns(segments: readonly string[], ignoreCase: boolean): boolean {
    if (this.isPathless) return true;
    this.matchers ??= this.rule.match.paths.map(pathMatcher);
    return this.matchers.some((matches) => matches(segments, ignoreCase));
  }

  /** Made when they are first used. */
  private get buckets(): RuleBuckets {
    return (this.madeBuckets ??= bucketsOf(this.rule, this.timeZone));
  }

  /** For a merchant of whose requests all take from the same buckets. */
  compiledFor(merchantId: string, makeTake: MakeTake): CompiledRule {
    const takes = newTakes(this.rule, this.buckets, { merchantId, ip: '', method: '', target: '' }, makeTake);
    return { rule: this.rule, buckets: this.buckets, takes, holdsSlots: this.holdsSlots, elastic: this.elastic };
  }

  /** For merchants whose buckets depend on the request: there is nothing to keep for one of them. */
  get compiledForAny(): CompiledRule {
    return (this.ofAnyMerchant ??= {
      rule: this.rule,
      buckets: this.buckets,
      takes: undefined,
      holdsSlots: this.holdsSlots,
      elastic: this.elastic,
    });
  }
}
