import type { DataSource } from 'typeorm';
import { createDataSource } from '#rules-db';
import { freshDatabase } from '../../support/services.js';

/** A migrated database of a spec's own, connected. */
export async function migratedDatabase(): Promise<{ url: string; dataSource: DataSource; close: () => Promise<void> }> {
  const { url, drop } = await freshDatabase({ migrated: true });
  const dataSource = createDataSource(url);
  await dataSource.initialize();
  return {
    url,
    dataSource,
    async close() {
      await dataSource.destroy();
      await drop();
    },
  };
}

/** Empties every table for the next test, the audit included, which nobody may empty otherwise. */
export async function emptyTables(dataSource: DataSource): Promise<void> {
  await dataSource.query(`
    SET session_replication_role = replica;
    TRUNCATE merchant, merchant_label, merchant_api_key, rule, deleted_merchant, plan, deleted_plan, audit, outbox RESTART IDENTITY;
    UPDATE audit_head SET seq = 0, hash = '';
    SET session_replication_role = origin`);
}
