import type { DataSource } from 'typeorm';
import { createDataSource, MerchantRepository, migrate } from '#rules-db';
import { migratedDatabase } from './database.js';

/** The rights that docs/operations.md asks for, and the address with which the role connects. */
async function createRole(owner: DataSource, url: string, name: string): Promise<string> {
  await owner.query(`CREATE ROLE ${name} LOGIN PASSWORD 'secret'`);
  const tables = await owner.query<{ name: string }[]>(`SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`);
  for (const { name: table } of tables.filter(({ name }) => name !== 'audit_head')) {
    const rights = table === 'audit' ? 'SELECT, INSERT' : 'SELECT, INSERT, UPDATE, DELETE';
    await owner.query(`GRANT ${rights} ON "${table}" TO ${name}`);
  }
  return Object.assign(new URL(url), { username: name, password: 'secret' }).href;
}

test('a role that owns nothing finds nothing to migrate, writes merchants with their audit, and cannot change the audit', async () => {
  const { url, dataSource: owner, close } = await migratedDatabase();
  // Roles belong to the server, not to a database: others may run at the same time.
  const name = `limited_role_${process.pid}`;
  try {
    const limited = createDataSource(await createRole(owner, url, name));
    await limited.initialize();
    try {
      expect(await migrate(limited)).toEqual([]);
      const merchant = { id: 'acme', name: 'Acme', timeZone: 'Etc/UTC' };
      await new MerchantRepository(limited).create(merchant, { name: 'admin', requestId: '1' });
      expect(await limited.query('SELECT action FROM audit')).toEqual([{ action: 'merchant.created' }]);
      await expect(limited.query('DELETE FROM audit')).rejects.toThrow(/permission denied/);
    } finally {
      await limited.destroy();
    }
  } finally {
    await owner.query(`DROP OWNED BY ${name}`);
    await owner.query(`DROP ROLE ${name}`);
    await close();
  }
});
