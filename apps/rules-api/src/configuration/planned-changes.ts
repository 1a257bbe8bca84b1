import { createPatch } from 'rfc6902';
import type { MerchantEdit, MerchantEntity, RuleOwner } from '#rules-db';
import type { PatchStep } from '../history/history.dto.js';
import { badBody, MAX_ERRORS } from '../http/validation.pipe.js';
import type { AppliedChange, Configuration, ConfiguredMerchant } from './configuration.dto.js';

/** What the changes of an apply are called, and what they consist of. */

export function editOf(
  before: MerchantEntity,
  { id: _id, ...wanted }: Omit<ConfiguredMerchant, 'rules'>,
): MerchantEdit & { patch: PatchStep[] } {
  const { name, timeZone, labels, plan } = before;
  const patch = createPatch({ name, timeZone, labels, plan }, wanted) as PatchStep[];
  // An unchanged time zone that was written again would count as an edit of the limits that follow it.
  const { timeZone: wantedZone, ...others } = wanted;
  return { before, changes: { ...others, ...(wantedZone !== timeZone && { timeZone: wantedZone }) }, patch };
}

export function ownerName(owner: RuleOwner): string {
  if (owner === null) return 'nobody';
  return typeof owner === 'string' ? owner : `the plan ${owner.plan}`;
}

export function aboutRulesOf(owner: RuleOwner): Pick<AppliedChange, 'kind' | 'merchantId' | 'plan'> {
  if (owner === null) return { kind: 'default_rule', merchantId: null };
  return typeof owner === 'string' ? { kind: 'rule', merchantId: owner } : { kind: 'plan_rule', merchantId: null, plan: owner.plan };
}

/** The database would refuse it too, and not say which merchant it is. */
export function demandPlans(given: Configuration['givenPlans'], known: ReadonlySet<string>): void {
  const faults = [...given].flatMap(([plan, pointers]) =>
    known.has(plan)
      ? []
      : pointers.map((pointer) => ({
          pointer,
          code: 'merchant.plan.not_found',
          detail: `must be the name of a plan, and there is no plan ${JSON.stringify(plan)}`,
        })),
  );
  if (faults.length > 0) throw badBody(faults.slice(0, MAX_ERRORS));
}

export function added(value: unknown): PatchStep[] {
  return [{ op: 'add', path: '', value }];
}
