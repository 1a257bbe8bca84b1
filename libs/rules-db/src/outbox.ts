import { type DataSource } from 'typeorm';
import { isMerchantId } from '#limiter';

/** News of one change. */
export interface OutboxRow {
  readonly id: string;
  /** Null: the default rules. */
  readonly merchantId: string | null;
  readonly version: number;
  /** When the transaction of the change began, by PostgreSQL's clock; null if it does not say. */
  readonly createdAt: Date | null;
}

/** A row as it is stored. */
export interface StoredOutboxRow {
  readonly id: string;
  readonly merchant_id: unknown;
  readonly version: unknown;
  readonly created_at: unknown;
}

/**
 * The news in a row; undefined if it names nobody whose rules could be read again. The rest of it is only a hint: a version
 * or a time that is none must not keep the change from being carried.
 */
export function outboxRow({ id, merchant_id: merchantId, version, created_at: createdAt }: StoredOutboxRow): OutboxRow | undefined {
  if (merchantId !== null && !isMerchantId(merchantId)) return undefined;
  const number = Number(version);
  return {
    id,
    merchantId,
    version: Number.isSafeInteger(number) && number >= 0 ? number : 0,
    // PostgreSQL knows times that no Date holds: infinity, and years before Christ.
    createdAt: createdAt instanceof Date && createdAt.getTime() >= 0 ? createdAt : null,
  };
}

/**
 * Hands at most `max` rows, the oldest first, to `publish` and deletes them when it has succeeded; returns how many.
 * If `publish` rejects, so does this, and the rows stay: they are published at least once, perhaps more often. Several
 * processes may drain at once; each takes rows that no other is publishing. Rows that cannot be read are told and deleted, so that
 * they do not stand in the way of others for ever.
 */
export async function drainOutbox(
  dataSource: DataSource,
  max: number,
  publish: (rows: OutboxRow[]) => Promise<void>,
  onUnreadable: (row: StoredOutboxRow) => void = () => undefined,
): Promise<number> {
  return dataSource.transaction(async (manager) => {
    const found = (await manager.query(
      'SELECT id, merchant_id, version, created_at FROM outbox ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED',
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
