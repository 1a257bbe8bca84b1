import { type DataSource } from 'typeorm';

/** News of one change. */
export interface OutboxRow {
  readonly id: string;
  /** Null: the default rules. */
  readonly merchantId: string | null;
  readonly version: number;
  /** When the transaction of the change began, by PostgreSQL's clock. */
  readonly createdAt: Date;
}

/**
 * Hands at most `max` rows, the oldest first, to `publish` and deletes them when it has succeeded; returns how many.
 * If `publish` rejects, so does this, and the rows stay: they are published at least once, perhaps more often. Several
 * processes may drain at once; each takes rows that no other is publishing.
 */
export async function drainOutbox(
  dataSource: DataSource,
  max: number,
  publish: (rows: OutboxRow[]) => Promise<void>,
): Promise<number> {
  return dataSource.transaction(async (manager) => {
    const found = (await manager.query('SELECT id, merchant_id, version, created_at FROM outbox ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED', [
      max,
    ])) as { id: string; merchant_id: string | null; version: string; created_at: Date }[];
    if (found.length === 0) return 0;
    const rows = found.map((row) => ({ id: row.id, merchantId: row.merchant_id, version: Number(row.version), createdAt: row.created_at }));
    await publish(rows);
    await manager.query('DELETE FROM outbox WHERE id = ANY($1)', [rows.map(({ id }) => id)]);
    return rows.length;
  });
}
