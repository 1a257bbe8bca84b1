import { type DataSource } from 'typeorm';
import { createDataSource, migrate } from '#rules-db';
import { freshDatabase } from '../../support/services.js';

/** A migrated database of a spec's own, connected. */
export async function migratedDatabase(): Promise<{ url: string; dataSource: DataSource; close(): Promise<void> }> {
  const { url, drop } = await freshDatabase();
  const dataSource = createDataSource(url);
  await migrate(dataSource);
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
