import type { DataSource } from 'typeorm';
import { drainOutbox, type OutboxRow } from '#rules-db';
import { migratedDatabase } from './database.js';

describe('drainOutbox', () => {
  let dataSource: DataSource;
  let close: () => Promise<void>;

  beforeAll(async () => {
    ({ dataSource, close } = await migratedDatabase());
  });
  beforeEach(async () => {
    await dataSource.query('TRUNCATE outbox RESTART IDENTITY');
    await dataSource.query(
      "INSERT INTO outbox (merchant_id, version) SELECT CASE WHEN n = 3 THEN NULL ELSE 'm' || n END, n FROM generate_series(1, 5) n",
    );
  });
  afterAll(() => close());

  const left = async () => ((await dataSource.query('SELECT count(*)::int AS count FROM outbox')) as [{ count: number }])[0].count;

  it('publishes the oldest rows and deletes them', async () => {
    const published: OutboxRow[] = [];
    const publish = (rows: OutboxRow[]) => Promise.resolve(void published.push(...rows));
    expect(await drainOutbox(dataSource, 3, publish)).toBe(3);
    expect(published).toEqual([
      { id: '1', merchantId: 'm1', version: 1, createdAt: expect.any(Date) as Date },
      { id: '2', merchantId: 'm2', version: 2, createdAt: expect.any(Date) as Date },
      { id: '3', merchantId: null, version: 3, createdAt: expect.any(Date) as Date },
    ]);
    expect(await drainOutbox(dataSource, 3, publish)).toBe(2);
    expect(await drainOutbox(dataSource, 3, publish)).toBe(0);
    expect(published).toHaveLength(5);
  });

  it('deletes and reports rows that name no merchant, and publishes the others even if their times are invalid', async () => {
    await dataSource.query(`UPDATE outbox SET merchant_id = ' odd ' WHERE id = 1`);
    await dataSource.query(`UPDATE outbox SET created_at = 'infinity', version = -5 WHERE id = 2`);
    const unreadable: string[] = [];
    const published: OutboxRow[] = [];
    const publish = (rows: OutboxRow[]) => Promise.resolve(void published.push(...rows));
    expect(await drainOutbox(dataSource, 3, publish, ({ id }) => unreadable.push(id))).toBe(3);
    expect(unreadable).toEqual(['1']);
    expect(published).toMatchObject([{ id: '2', merchantId: 'm2', version: 0, createdAt: null }, { id: '3' }]);
    expect(await left()).toBe(2);
  });

  it('keeps the rows when publishing fails', async () => {
    await expect(drainOutbox(dataSource, 3, () => Promise.reject(new Error('redis is gone')))).rejects.toThrow('redis is gone');
    expect(await left()).toBe(5);
  });

  it('gives each row to one of several drainers, and none of them waits', async () => {
    const seen: string[] = [];
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let firstHasRows = (): void => undefined;
    const started = new Promise<void>((resolve) => (firstHasRows = resolve));
    const first = drainOutbox(dataSource, 2, async (rows) => {
      seen.push(...rows.map(({ id }) => id));
      firstHasRows();
      await held;
    });
    await started;
    expect(await drainOutbox(dataSource, 10, (rows) => Promise.resolve(void seen.push(...rows.map(({ id }) => id))))).toBe(3);
    release();
    expect(await first).toBe(2);
    expect(seen).toEqual(['1', '2', '3', '4', '5']);
    expect(await left()).toBe(0);
  });
});
