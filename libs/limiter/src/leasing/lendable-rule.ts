import type { Bucket } from '../buckets/bucket.js';
import type { Consistency, Lending } from '../rules/consistency.js';
import { canBeLent } from '../buckets/lend.js';

/** What of a rule says how it is counted. */
interface LendableRule {
  readonly consistency?: Consistency | undefined;
  readonly penalty?: object | null | undefined;
  readonly reserve?: readonly object[] | null | undefined;
}

/**
 * How the buckets of a rule may be decided about; undefined if the store decides about each request, also because not all of them can be lent: a
 * request takes from all or from none.
 */
export function lendingOf(rule: LendableRule, buckets: readonly Bucket[]): Lending | undefined {
  const { consistency = 'exact' } = rule;
  return consistency === 'exact' || hindrance(rule) !== undefined || !buckets.every(canBeLent) ? undefined : consistency;
}

/** What of a rule, besides its limits, keeps its buckets from being lent: penalties count refusals at the store, and what is reserved is withheld there. */
export function hindrance({ penalty, reserve }: LendableRule): 'penalty' | 'reserve' | undefined {
  if (penalty) return 'penalty';
  return reserve && reserve.length > 0 ? 'reserve' : undefined;
}

/**
 * The same buckets for those who decide about them without asking the store.
 *
 * By Object.assign, whose results all have one hidden class. A field that is added to what a spread has made gives each object a hidden class of its own, until V8 has seen that code run often; and this
 * runs once for each merchant. With a thousand classes V8's caches of properties are of no use: a leased decision cost more than an exact one.
 */
export function lendable(buckets: readonly Bucket[], lending: Lending | undefined): readonly Bucket[] {
  return lending === undefined ? buckets : buckets.map((bucket) => Object.assign({}, bucket, { lending }));
}
