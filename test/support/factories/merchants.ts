/** Merchants for tests, as they are created and as their snapshots carry them. */
import type { MerchantSnapshot } from '#limiter';

/** Who changes something, for the audit trail. */
export const BY = { name: 'admin', requestId: 'request-1' };

/** A merchant as it is created. */
export const merchant = (id: string) => ({ id, name: id, timeZone: 'Etc/UTC' });

/** A merchant that exists, at version 1 and without rules, unless told otherwise. */
export function merchantSnapshot(merchantId: string, changes: Partial<Omit<MerchantSnapshot, 'merchantId'>> = {}): MerchantSnapshot {
  return { merchantId, version: 1, exists: true, timeZone: 'Etc/UTC', rules: [], ...changes };
}
