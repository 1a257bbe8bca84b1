import type { DataSource } from 'typeorm';
import { IdempotencyKeyRepository } from '#rules-db';
import { migratedDatabase } from './database.js';

let dataSource: DataSource;
let close: () => Promise<void>;
let keys: IdempotencyKeyRepository;
beforeAll(async () => {
  ({ dataSource, close } = await migratedDatabase());
  keys = new IdempotencyKeyRepository(dataSource);
});
afterAll(() => close());

const request = (key: string, byte = 1) => ({ bearer: 'ci', key, requestHash: Buffer.alloc(32, byte) });
const age = (key: string, age: string) =>
  dataSource.query('UPDATE idempotency_key SET created_at = now() - $2::interval WHERE key = $1', [key, age]);

describe('an idempotency key', () => {
  it('is claimed by one of many that come at once', async () => {
    const claims = await Promise.all(Array.from({ length: 8 }, () => keys.claim(request('race'))));
    expect(claims.filter((used) => used === null)).toHaveLength(1);
    expect(claims.filter((used) => used !== null)).toEqual(
      Array.from({ length: 7 }, () => ({ requestHash: Buffer.alloc(32, 1), status: null, answer: null })),
    );
  });

  it('keeps the answer for a day, and is new again afterwards', async () => {
    await keys.claim(request('day'));
    await keys.settle(request('day'), 201, '{"b":1,"a":2}');
    await age('day', '23 hours 59 minutes');
    expect(await keys.claim(request('day', 2))).toEqual({ requestHash: Buffer.alloc(32, 1), status: 201, answer: '{"b":1,"a":2}' });
    await age('day', '24 hours 1 minute');
    expect(await keys.claim(request('day', 2))).toBeNull();
  });

  it('is free after a failure, and after its process has died', async () => {
    await keys.claim(request('failed'));
    await keys.release(request('failed'));
    expect(await keys.claim(request('failed'))).toBeNull();
    await age('failed', '29 seconds');
    expect(await keys.claim(request('failed'))).not.toBeNull();
    await age('failed', '31 seconds');
    expect(await keys.claim(request('failed'))).toBeNull();
  });

  it('of a request that may take minutes is kept for it as long', async () => {
    const long = { ...request('long'), isLong: true };
    await keys.claim(long);
    await age('long', '5 minutes');
    expect(await keys.claim(long)).not.toBeNull();
    // Another request does not know how long this one may take.
    expect(await keys.claim(request('long', 2))).not.toBeNull();
    await age('long', '6 minutes');
    expect(await keys.claim(request('long', 2))).toBeNull();
    // The first one was given up, and its answer would be that to another request.
    await keys.settle(long, 200, '{}');
    await keys.release(long);
    expect(await keys.claim(request('long', 2))).toMatchObject({ status: null, answer: null });
  });

  it('that has an answer is not released', async () => {
    await keys.claim(request('settled'));
    await keys.settle(request('settled'), 201, null);
    await keys.release(request('settled'));
    expect(await keys.claim(request('settled'))).toMatchObject({ status: 201, answer: null });
  });

  it('is deleted once it has expired, few at a time', async () => {
    await dataSource.query(
      `INSERT INTO idempotency_key (bearer, key, request_hash, created_at) SELECT 'old', i::text, '\\x00', now() - interval '2 days' FROM generate_series(1, 50) i`,
    );
    const old = async () =>
      ((await dataSource.query(`SELECT count(*)::int AS count FROM idempotency_key WHERE bearer = 'old'`)) as [{ count: number }])[0].count;
    for (const left of [30, 10, 0]) {
      await keys.claim(request(`new ${left}`));
      expect(await old()).toBe(left);
    }
  });
});
