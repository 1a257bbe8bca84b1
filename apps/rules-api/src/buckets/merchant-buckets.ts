import {
  type Bucket,
  bucketKey,
  bucketOf,
  canBeOverridden,
  type KeyPart,
  type Limit,
  type Rule,
  type RuleOrigin,
  type RuleOverrides,
  type RuleSource,
  ruleUnder,
  SOURCES,
} from '#limiter';
import type { KeyValues } from './key-values.js';

/** A bucket that a rule has for a merchant. */
export interface NamedBucket {
  readonly rule: Rule;
  readonly source: RuleSource;
  readonly limit: Limit;
  /** Parts of the key for which there is no value. */
  readonly needs: readonly KeyPart[];
  /** Undefined while something is needed, or if no bucket can be named by its key. */
  readonly key: string | undefined;
  readonly bucket: Bucket;
}

interface RulesOfMerchant {
  readonly merchantId: string;
  readonly timeZone: string;
  readonly own: readonly Rule[];
  readonly plan: readonly Rule[];
  readonly defaults: readonly Rule[];
  readonly overrides?: readonly RuleOverrides[] | undefined;
}

/** Every bucket of the enabled rules that concern a merchant: its own rules first, then those of its plan, then the default ones, each by id, limits as they are written. */
export function bucketsOfMerchant(
  { merchantId, timeZone, own, plan, defaults, overrides = [] }: RulesOfMerchant,
  values: KeyValues,
  atMs = Date.now(),
): NamedBucket[] {
  const underOverride = (rule: Rule, origin: RuleOrigin): Rule => {
    const its = overrides.find(({ ruleId }) => ruleId === rule.id);
    return its && canBeOverridden(rule, origin) ? ruleUnder(rule, its, { atMs }, timeZone) : rule;
  };
  const ofRules = (rules: readonly Rule[], origin: RuleOrigin): NamedBucket[] =>
    [...rules]
      .sort((a, b) => a.id.length - b.id.length || (a.id < b.id ? -1 : 1))
      .map((rule) => underOverride(rule, origin))
      .flatMap((rule) =>
        rule.limits.map((limit) => {
          const needs = rule.key.filter((part) => !values.has(part));
          const descriptor = needs.length === 0 ? values.request(merchantId, rule.key) : undefined;
          const key = descriptor && bucketKey(rule, limit.id, descriptor);
          return { rule, source: SOURCES[origin], limit, needs, key, bucket: bucketOf(limit, timeZone) };
        }),
      );
  return [...ofRules(own, 'own'), ...ofRules(plan, 'plan'), ...ofRules(defaults, 'default')];
}

/** Whether other merchants take from the same bucket: it is a default rule's or a plan's, whose key does not tell merchants apart. */
export function isShared({ rule, source }: NamedBucket): boolean {
  return source !== 'merchant' && !rule.key.includes('merchant');
}
