import type { DataSource } from 'typeorm';
import {
  ApiKeyNameTakenError,
  ApiKeyNotFoundError,
  AuditRepository,
  drainOutbox,
  MAX_API_KEYS_PER_MERCHANT,
  MerchantApiKeyRepository,
  MerchantNotFoundError,
  MerchantRepository,
  type OutboxRow,
  TooManyApiKeysError,
} from '#rules-db';
import { BY } from '../../support/factories/merchants.js';
import { emptyTables, migratedDatabase } from './database.js';

let dataSource: DataSource;
let close: () => Promise<void>;
let keys: MerchantApiKeyRepository;
let merchants: MerchantRepository;
let audit: AuditRepository;
beforeAll(async () => {
  ({ dataSource, close } = await migratedDatabase());
  keys = new MerchantApiKeyRepository(dataSource);
  merchants = new MerchantRepository(dataSource);
  audit = new AuditRepository(dataSource);
});
afterAll(() => close());
beforeEach(async () => {
  await emptyTables(dataSource);
  for (const id of ['acme', 'other']) await merchants.create({ id, name: id, timeZone: 'UTC' }, BY);
  await news();
});

const secret = (n: number) => ({ prefix: `prefix ${n}`, hash: Buffer.alloc(32, n) });
const create = (merchantId: string, n: number, changes: object = {}) =>
  keys.create(merchantId, { name: `key ${n}`, user: null, labels: {}, expiresAt: null, ...changes }, secret(n), BY);

/** What the relay would tell the gateways. */
async function news(): Promise<(string | null)[]> {
  const heard: OutboxRow[] = [];
  await drainOutbox(dataSource, 100, (rows) => Promise.resolve(void heard.push(...rows)));
  return heard.map(({ merchantId }) => merchantId);
}

describe('the API keys of merchants', () => {
  it('are found by their prefix, with the merchant, the user and the end', async () => {
    const expiresAt = new Date('2100-01-01T00:00:00Z');
    const { id } = await create('acme', 1, { user: 'u1', labels: { team: 'web' }, expiresAt });
    expect(await keys.byPrefix('prefix 1')).toEqual({
      id,
      merchantId: 'acme',
      user: 'u1',
      labels: { team: 'web' },
      ...secret(1),
      until: expiresAt,
    });
    expect(await keys.byPrefix('prefix 2')).toBeNull();
  });

  it('are found by both prefixes after a rotation, the former one until its end, and then until the next rotation only', async () => {
    const { id } = await create('acme', 1);
    const [soon, later] = [new Date('2090-01-01T00:00:00Z'), new Date('2091-01-01T00:00:00Z')];
    expect(await keys.rotate('acme', id, secret(2), soon, BY)).toMatchObject({ prefix: 'prefix 2', formerPrefix: 'prefix 1' });
    expect(await keys.byPrefix('prefix 1')).toMatchObject({ id, hash: secret(1).hash, until: soon });
    expect(await keys.byPrefix('prefix 2')).toMatchObject({ id, hash: secret(2).hash, until: null });
    await keys.rotate('acme', id, secret(3), later, BY);
    expect(await keys.byPrefix('prefix 1')).toBeNull();
    expect(await keys.byPrefix('prefix 2')).toMatchObject({ until: later });
  });

  it('each change is a row of the audit, without the hash, and news for the gateways', async () => {
    const { id } = await create('acme', 1);
    await keys.rotate('acme', id, secret(2), new Date(), BY);
    await keys.delete('acme', id, BY);
    const rows = await audit.list({ merchantId: 'acme' }, { limit: 3 });
    expect(rows.map(({ action }) => action)).toEqual(['api_key.deleted', 'api_key.rotated', 'api_key.created']);
    expect(JSON.stringify(rows)).not.toMatch(/hash"?:.{0,20}(01010101|02020202)|"data"/i);
    expect(rows[0]).toMatchObject({ before: { name: 'key 1', prefix: 'prefix 2' }, after: null });
    expect(await news()).toEqual(['acme', 'acme', 'acme']);
    expect((await merchants.find('acme'))!.version).toBe(1);
  });

  it('a refused change leaves nothing behind, neither a row of the audit nor news', async () => {
    const { id } = await create('acme', 1);
    await news();
    const before = await audit.list({}, { limit: 10 });
    await expect(create('acme', 2, { name: 'key 1' })).rejects.toThrow(ApiKeyNameTakenError);
    await expect(create('nobody', 3)).rejects.toThrow(MerchantNotFoundError);
    await expect(keys.rotate('other', id, secret(4), new Date(), BY)).rejects.toThrow(ApiKeyNotFoundError);
    await expect(keys.delete('other', id, BY)).rejects.toThrow(ApiKeyNotFoundError);
    expect(await audit.list({}, { limit: 10 })).toEqual(before);
    expect(await news()).toEqual([]);
    // The same name at another merchant is another key.
    await create('other', 5, { name: 'key 1' });
    expect(await keys.find('other', id)).toBeNull();
  });

  it('are bounded, also when many are made at once', async () => {
    await dataSource.query(
      `INSERT INTO merchant_api_key (merchant_id, name, prefix, hash) SELECT 'acme', i::text, i::text, '\\x00' FROM generate_series(1, $1::int) i`,
      [MAX_API_KEYS_PER_MERCHANT - 1],
    );
    const made = await Promise.allSettled([1, 2, 3].map((n) => create('acme', n)));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of made) if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(TooManyApiKeysError);
    await create('other', 4);
  });

  it('end with their merchant, and do not come back with another one of this id', async () => {
    await create('acme', 1);
    await merchants.delete('acme', 'any', BY);
    expect(await keys.byPrefix('prefix 1')).toBeNull();
    const [deleted] = await audit.list({ merchantId: 'acme' }, { limit: 1 });
    expect(deleted!.before).toMatchObject({ apiKeys: [{ name: 'key 1' }] });
    await merchants.create({ id: 'acme', name: 'Acme', timeZone: 'UTC' }, BY);
    expect(await keys.list('acme', { limit: 10 })).toEqual([]);
  });

  it('the last use never goes back', async () => {
    const { id } = await create('acme', 1);
    const [early, late] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-02T00:00:00Z')];
    for (const at of [late, early]) await keys.used(id, at);
    expect((await keys.find('acme', id))!.lastUsedAt).toEqual(late);
  });
});
