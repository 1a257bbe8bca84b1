import type { EntityManager } from 'typeorm';
import { MerchantNotFoundError } from '../connection/errors.js';

/** The version of a merchant's snapshot, as long as the merchant lives and beyond: one that comes back goes on from there. */

/**
 * Raises the version of a merchant's snapshot and returns it. The merchant's row is locked until the transaction ends.
 *
 * @throws MerchantNotFoundError
 */
export async function raiseRulesVersion(manager: EntityManager, merchantId: string): Promise<number> {
  const version = (await raiseRulesVersions(manager, [merchantId])).get(merchantId);
  if (version === undefined) throw new MerchantNotFoundError(merchantId);
  return version;
}

/** The same for several merchants, which the caller has locked if they are more than one; those that are not there are left out. */
export async function raiseRulesVersions(manager: EntityManager, ids: readonly string[]): Promise<Map<string, number>> {
  const [rows] = (await manager.query(
    'UPDATE merchant SET rules_version = rules_version + 1 WHERE id = ANY($1) RETURNING id, rules_version',
    [ids],
  )) as [{ id: string; rules_version: string }[], number];
  return new Map(rows.map(({ id, rules_version: version }) => [id, Number(version)]));
}

/**
 * Removes the tombstone of a merchant with this id and returns its last version, 0 if there is none. The version of the row continues
 * from there as well, so that no old ETag fits the new merchant.
 */
export async function takeTombstone(manager: EntityManager, merchantId: string): Promise<number> {
  return (await takeTombstones(manager, [merchantId])).get(merchantId) ?? 0;
}

export async function takeTombstones(manager: EntityManager, ids: readonly string[]): Promise<Map<string, number>> {
  const [rows] = (await manager.query('DELETE FROM deleted_merchant WHERE merchant_id = ANY($1) RETURNING merchant_id, rules_version', [
    ids,
  ])) as [{ merchant_id: string; rules_version: string }[], number];
  return new Map(rows.map(({ merchant_id: id, rules_version: version }) => [id, Number(version)]));
}
