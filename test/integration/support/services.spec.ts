import { Redis } from 'ioredis';
import pg from 'pg';
import { PATIENCE } from '../../support/patience.mjs';
import { freshDatabase, freshPostgres, freshRedis, sharedRedisUrl } from '../../support/services.js';

const ask = async (url: string, query: string): Promise<unknown[]> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(query)).rows;
  } finally {
    await client.end();
  }
};

const ping = async (url: string, timeoutMs = 5_000 * PATIENCE): Promise<string> => {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0, commandTimeout: timeoutMs });
  redis.on('error', () => {});
  try {
    return await redis.ping();
  } finally {
    redis.disconnect();
  }
};

describe('what the tests stand on', () => {
  it('gives each test an empty database of its own', async () => {
    const [one, two] = await Promise.all([freshDatabase(), freshDatabase()]);
    await ask(one.url, 'CREATE TABLE only_here (id int)');
    await expect(ask(one.url, 'SELECT id FROM only_here')).resolves.toEqual([]);
    await expect(ask(two.url, 'SELECT id FROM only_here')).rejects.toThrow('does not exist');
    await Promise.all([one.drop(), two.drop()]);
    await expect(ask(one.url, 'SELECT 1')).rejects.toThrow('does not exist');
  });

  it('gives a test that asks for it the tables of all migrations', async () => {
    const [one, two] = await Promise.all([freshDatabase({ migrated: true }), freshDatabase({ migrated: true })]);
    await ask(one.url, "INSERT INTO merchant (id, name, time_zone, version, rules_version) VALUES ('acme', 'Acme', 'Etc/UTC', 1, 1)");
    await expect(ask(two.url, 'SELECT id FROM merchant')).resolves.toEqual([]);
    await Promise.all([one.drop(), two.drop()]);
  });

  it('has a Redis for all, and one that a test may freeze, kill and restart', async () => {
    await expect(ping(sharedRedisUrl())).resolves.toBe('PONG');
    const redis = await freshRedis();
    await expect(ping(redis.url)).resolves.toBe('PONG');
    redis.freeze();
    await expect(ping(redis.url, 300)).rejects.toThrow();
    redis.thaw();
    await expect(ping(redis.url)).resolves.toBe('PONG');
    await redis.kill();
    await expect(ping(redis.url)).rejects.toThrow();
    await redis.restart();
    await expect(ping(redis.url)).resolves.toBe('PONG');
    redis.freeze();
    await redis.stop();
    await expect(ping(redis.url)).rejects.toThrow();
  });

  it('has a PostgreSQL that a test may take away, which keeps its data', async () => {
    const postgres = await freshPostgres();
    await ask(postgres.url, 'CREATE TABLE kept (id int)');
    await postgres.kill();
    await expect(ask(postgres.url, 'SELECT 1')).rejects.toThrow();
    await postgres.restart();
    await expect(ask(postgres.url, 'SELECT id FROM kept')).resolves.toEqual([]);
    await postgres.stop();
  });
});
