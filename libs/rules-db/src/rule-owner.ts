import { type EntityManager, IsNull } from 'typeorm';
import { MerchantEntity } from './merchant.entity.js';
import { raiseRulesVersion } from './merchant.repository.js';

/** The owner of rules: a merchant's id, or null for the default rules. */
export type RuleOwner = string | null;

/** The condition by which rules of the owner are found. */
export function ownedBy(owner: RuleOwner) {
  return { merchantId: owner ?? IsNull() };
}

export async function raiseVersion(manager: EntityManager, owner: RuleOwner): Promise<number> {
  if (owner !== null) return raiseRulesVersion(manager, owner);
  const [rows] = (await manager.query('UPDATE default_rules_version SET version = version + 1 RETURNING version')) as [
    { version: string }[],
    number,
  ];
  const [row] = rows;
  if (!row) throw new Error('the row of default_rules_version is missing');
  return Number(row.version);
}

export async function timeZoneOf(manager: EntityManager, owner: RuleOwner): Promise<string | undefined> {
  return owner === null ? undefined : (await manager.findOneByOrFail(MerchantEntity, { id: owner })).timeZone;
}
