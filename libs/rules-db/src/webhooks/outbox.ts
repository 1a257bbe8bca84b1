import type { DataSource } from 'typeorm';
import { isMerchantId, isPlanName } from '#limiter';

/** One change: the rules of this merchant, or of this plan, are new. */
export interface OutboxRow {
  readonly id: string;
  /** Null: the default rules, unless a plan is named. */
  readonly merchantId: string | null;
  readonly plan?: string;
  readonly version: number;
  /** When the transaction of the change began, by PostgreSQL's clock; null if the stored time is invalid. */
  readonly createdAt: Date | null;
}

/** A row as the driver returns it. */
export interface StoredOutboxRow {
  readonly id: string;
  readonly merchant_id: unknown;
  readonly plan?: unknown;
  readonly version: unknown;
  readonly created_at: unknown;
}

/**
 * Parses a row; undefined if it names no merchant and no plan whose rules could be read again. Version and time are only hints: invalid ones are
 * replaced by 0 and null, and the change is relayed all the same.
 */
export function outboxRow({
  id,
  merchant_id: merchantId,
  plan = null,
  version,
  created_at: createdAt,
}: StoredOutboxRow): OutboxRow | undefined {
  if (merchantId !== null && !isMerchantId(merchantId)) return undefined;
  if (plan !== null && !isPlanName(plan)) return undefined;
  const number = Number(version);
  return {
    id,
    merchantId,
    ...(plan !== null && { plan }),
    version: Number.isSafeInteger(number) && number >= 0 ? number : 0,
    // PostgreSQL has times that Date does not have: infinity, and years before Christ.
    createdAt: createdAt instanceof Date && createdAt.getTime() >= 0 ? createdAt : null,
  };
}

/**
 * Hands at most `max` rows, the oldest or the newest ones, to `publish`, deletes them if it succeeds, and returns their number.
 * If `publish` rejects, this function rejects with the same error and the rows stay: each row is published at least once.
 * Several processes may drain at once; each takes rows that no other one is publishing.
 *
 * @param onUnreadable called with each row that names neither a merchant nor a plan; such rows are deleted too, so that they do not block others
 */
export async function drainOutbox(
  dataSource: DataSource,
  max: number,
  publish: (rows: OutboxRow[]) => Promise<void>,
  onUnreadable: (row: StoredOutboxRow) => void = () => undefined,
  from: 'oldest' | 'newest' = 'oldest',
): Promise<number> {
  // Mostly there is nothing, and one statement says so; a transaction takes three.
  if (((await dataSource.query('SELECT 1 FROM outbox ORDER BY id LIMIT 1')) as unknown[]).length === 0) return 0;
  return dataSource.transaction(async (manager) => {
    const found = (await manager.query(
      `SELECT id, merchant_id, plan, version, created_at FROM outbox ORDER BY id ${from === 'oldest' ? 'ASC' : 'DESC'} LIMIT $1 FOR UPDATE SKIP LOCKED`,
      [max],
    )) as StoredOutboxRow[];
    if (found.length === 0) return 0;
    const rows: OutboxRow[] = [];
    const unreadable: StoredOutboxRow[] = [];
    for (const stored of found) {
      const row = outboxRow(stored);
      if (row) rows.push(row);
      else unreadable.push(stored);
    }
    await publish(rows);
    await manager.query('DELETE FROM outbox WHERE id = ANY($1)', [found.map(({ id }) => id)]);
    unreadable.forEach(onUnreadable);
    return found.length;
  });
}
