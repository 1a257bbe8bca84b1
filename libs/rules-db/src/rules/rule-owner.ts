import { type EntityManager, IsNull } from 'typeorm';
import { MerchantEntity } from '../merchants/merchant.entity.js';
import { raiseRulesVersion } from './rules-version.js';
import { raisePlanVersion } from './plan.repository.js';

/** A plan as the owner of rules. */
export interface PlanOwner {
  readonly plan: string;
}

/** The owner of rules: a merchant's id, a plan, or null for the default rules. */
export type RuleOwner = string | PlanOwner | null;

/** The columns of a rule, of a change or of a row of the audit that say whose it is. */
export interface OwnerColumns {
  readonly merchantId: string | null;
  readonly plan: string | null;
}

export function ownerColumns(owner: RuleOwner): OwnerColumns {
  return typeof owner === 'object' ? { merchantId: null, plan: owner?.plan ?? null } : { merchantId: owner, plan: null };
}

/** The owner that these columns name. */
export function ownerOf({ merchantId, plan }: OwnerColumns): RuleOwner {
  return merchantId ?? (plan === null ? null : { plan });
}

/** The condition by which rules of the owner are found. */
export function ownedBy(owner: RuleOwner) {
  const { merchantId, plan } = ownerColumns(owner);
  return merchantId === null ? { merchantId: IsNull(), plan: plan ?? IsNull() } : { merchantId };
}

/** Raises the version of the owner's snapshot and returns it. The owner is locked until the transaction ends. @throws MerchantNotFoundError, PlanNotFoundError */
export async function raiseVersion(manager: EntityManager, owner: RuleOwner): Promise<number> {
  if (typeof owner === 'string') return raiseRulesVersion(manager, owner);
  if (owner !== null) return raisePlanVersion(manager, owner.plan);
  const [rows] = (await manager.query('UPDATE default_rules_version SET version = version + 1 RETURNING version')) as [
    { version: string }[],
    number,
  ];
  const [row] = rows;
  if (!row) throw new Error('the row of default_rules_version is missing');
  return Number(row.version);
}

/** Rules that several merchants share follow the time zone of none of them. */
export async function timeZoneOf(manager: EntityManager, owner: RuleOwner): Promise<string | undefined> {
  return typeof owner === 'string' ? (await manager.findOneByOrFail(MerchantEntity, { id: owner })).timeZone : undefined;
}
