import type { PenaltyBucket } from '../algorithms/penalty/penalty.js';
import { keyHead, keyParts, type LimitId } from '../buckets/bucket-key.js';
import { bucketOf, bucketOfPenalty, withholding, type Bucket } from '../buckets/bucket.js';
import type { CompiledCharge } from '../rules/charge.js';
import { AskedFields } from '../conditions/request-field.js';
import type { Price } from '../rules/cost.js';
import type { Descriptor } from './descriptor.js';
import { lendable, lendingOf } from '../leasing/lendable-rule.js';
import type { Rule } from '../rules/rule.js';
import type { RuleOrigin } from '../rules/rule-origin.js';
import type { BucketTake, MakeTake, PenaltyTake } from '../buckets/take.js';
import { withheldOf } from './withheld.js';

/** What a rule counts with. */
export interface RuleBuckets {
  /** In the order of the rule's limits. */
  readonly limits: readonly Bucket[];
  readonly penalty: (Bucket & PenaltyBucket) | undefined;
}

/** What a request takes from the buckets of one rule. */
export interface RuleTakes {
  readonly limits: readonly BucketTake[];
  readonly penalty: PenaltyTake | undefined;
}

/** A rule as the requests of one merchant use it. */
export interface CompiledRule {
  readonly rule: Rule;
  readonly origin: RuleOrigin;
  readonly buckets: RuleBuckets;
  /** What a request takes, if that is the same for every request of the merchant. */
  readonly takes: RuleTakes | undefined;
  /** Whether a request holds slots that have to be released. */
  readonly holdsSlots: boolean;
  /** What a request costs, where a field of it says so. */
  readonly price: Price | undefined;
  /** In which its buckets count: see local-share.ts. */
  readonly unitsPerToken: number;
  /** What it charges only once there is an answer. */
  readonly charge: CompiledCharge | undefined;
  /** Whether it has limits that look at the platform's spare capacity. */
  readonly elastic: boolean;
  /** The share of its buckets that the request has to leave to others, in percent; 0 where it need not. */
  readonly withheldPercent: number;
}

export function bucketsOf(rule: Rule, timeZone: string | undefined): RuleBuckets {
  const { limits, penalty } = rule;
  const buckets = limits.map((limit) => bucketOf(limit, timeZone));
  return {
    limits: lendable(buckets, lendingOf(rule, buckets)),
    penalty: penalty ? bucketOfPenalty(penalty, limits.length) : undefined,
  };
}

/** The same buckets as those find them who have to leave a share of them. */
export function bucketsWithholding(
  { limits, penalty }: RuleBuckets,
  rule: Pick<Rule, 'limits'>,
  percent: number,
  unitsPerToken = 1,
): RuleBuckets {
  return { limits: limits.map((bucket, i) => withholding(bucket, withheldOf(rule.limits[i]!, percent) * unitsPerToken)), penalty };
}

export function newTakes(
  rule: Rule,
  { limits, penalty }: RuleBuckets,
  descriptor: Descriptor,
  cost: number,
  makeTake: MakeTake,
): RuleTakes {
  const parts = keyParts(rule.key, descriptor);
  const takeOf = <B extends Bucket>(id: LimitId, bucket: B) => makeTake(keyHead(rule, id, descriptor.merchantId) + parts, bucket, cost);
  return {
    limits: limits.map((bucket, i) => takeOf(rule.limits[i]!.id, bucket)),
    penalty: penalty && takeOf('penalty', penalty),
  };
}

/** A take that is made for one request keeps nothing for the next. */
export const plainTake: MakeTake = (key, bucket, cost) => ({ key, bucket, cost });

/** What a request takes by these rules, in the order in which a store is asked: a penalty stands right behind its limits. */
export function takesOf(rules: readonly CompiledRule[], descriptor: Descriptor): readonly BucketTake[] {
  return rules.length === 1 ? takesOfRule(rules[0]!, descriptor) : rules.flatMap((compiled) => takesOfRule(compiled, descriptor));
}

function takesOfRule(compiled: CompiledRule, descriptor: Descriptor): readonly BucketTake[] {
  const { rule, buckets, takes, unitsPerToken } = compiled;
  if (takes !== undefined && descriptor.times === undefined) return inOrder(takes);
  return inOrder(newTakes(rule, buckets, descriptor, costOf(compiled, descriptor)! * unitsPerToken, plainTake));
}

/** What a request costs by a rule; undefined if what it says of that is not valid. */
export function costOf({ rule, price }: Pick<CompiledRule, 'rule' | 'price'>, descriptor: Descriptor): number | undefined {
  const cost = price === undefined ? (rule.cost as number) : price(new AskedFields(descriptor));
  const { times } = descriptor;
  return times === undefined || cost === undefined ? cost : Math.min(cost * times, MORE_THAN_ANY_CAPACITY);
}

/** What is exact in every bucket, and refused by each. */
const MORE_THAN_ANY_CAPACITY = 1_000_000_001;

export function inOrder({ limits, penalty }: RuleTakes): readonly BucketTake[] {
  return penalty === undefined ? limits : [...limits, penalty];
}
