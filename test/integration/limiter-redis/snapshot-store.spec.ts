import {
  allReadCompactSnapshots,
  DEFAULT_RULES_KEY,
  leaveGateways,
  planKey,
  RedisSnapshotStore,
  reportLoad,
  snapshotKey,
  PLATFORM_LOAD_KEY,
  type Unreadable,
} from '#limiter-redis';
import { startLimits, type MerchantSnapshot, type PlanSnapshot } from '#limiter';
import { burst } from '#limiter/testing';
import { merchantSnapshot } from '../../support/factories/merchants.js';
import { rule } from '../../support/factories/rules.js';
import { redisForFile } from '../../support/redis-for-file.js';

const { redis } = await redisForFile();

let store: RedisSnapshotStore;
let unreadable: Unreadable[];

const snapshot = (version: number): MerchantSnapshot => merchantSnapshot('acme', { version });

beforeEach(async () => {
  await redis.del(snapshotKey('acme'), DEFAULT_RULES_KEY, planKey('pro'), PLATFORM_LOAD_KEY);
  unreadable = [];
  store = new RedisSnapshotStore(redis, (what) => unreadable.push(what));
});

test('a newer snapshot stays, and the same one only lives longer', async () => {
  await store.write([snapshot(5)], 60_000);
  expect(await store.write([snapshot(4)], 60_000)).toEqual({ written: 0, newer: 1 });
  expect(await store.write([snapshot(5)], 120_000)).toEqual({ written: 0, newer: 0 });
  expect(await redis.pttl(snapshotKey('acme'))).toBeGreaterThan(60_000);
  expect(await store.read('acme')).toEqual(snapshot(5));
});

test('of those written together each is compared with what stands there, wherever the first of them is', async () => {
  const ids = ['a1', 'a2', 'a3', 'a4', 'a5'];
  await redis.del(...ids.map(snapshotKey));
  await store.write(
    [merchantSnapshot('a2', { version: 7 }), merchantSnapshot('a4', { version: 3 }), merchantSnapshot('a5', { version: 5 })],
    60_000,
  );
  const counts = await store.write(
    ids.map((id) => merchantSnapshot(id, { version: 5 })),
    120_000,
  );
  expect(counts).toEqual({ written: 3, newer: 1 });
  expect((await Promise.all(ids.map((id) => store.read(id)))).map((found) => found?.version)).toEqual([5, 7, 5, 5, 5]);
  const lives = await Promise.all(ids.map((id) => redis.pttl(snapshotKey(id))));
  expect(lives.map((ms) => Math.ceil(ms / 60_000))).toEqual([2, 1, 2, 2, 2]);
});

/** As the Rules API stores them: two methods, a path, one limit, every default filled in. */
const usualRule = () =>
  rule({
    id: '1000001',
    name: 'transactions',
    match: { methods: ['GET', 'POST'], paths: ['/transactions/**'] },
    limits: startLimits([burst({ capacity: 1000, refillTokens: 100, onEdit: 'as_is', throttle: 'hard' })], Date.now()),
  });

describe('compact snapshots', () => {
  const compact = () => new RedisSnapshotStore(redis, undefined, { compact: () => allReadCompactSnapshots(redis) });
  const text = () => redis.get(snapshotKey('acme'));

  test('take less than 400 bytes of Redis for a merchant with one rule, and a mark for one with default rules or a plan alone', async () => {
    const id = 'm000000000001';
    const of = (more: Partial<MerchantSnapshot>) => ({ ...merchantSnapshot(id), version: 1, timeZone: 'UTC', rules: [], ...more });
    const taken = async (from: MerchantSnapshot) => {
      await redis.del(snapshotKey(id));
      await compact().write([from], 60_000);
      expect((await store.read(id))?.rules).toEqual(from.rules);
      return (await redis.memory('USAGE', snapshotKey(id))) ?? NaN;
    };
    expect(await taken(of({ rules: [usualRule()], timeZone: 'Europe/Berlin' }))).toBeLessThanOrEqual(400);
    expect(await taken(of({}))).toBeLessThanOrEqual(160);
    expect(await taken(of({ plan: 'pro' }))).toBeLessThanOrEqual(160);
    expect(await redis.strlen(snapshotKey(id))).toBeLessThanOrEqual(44);
  });

  test('are written once everybody reads them, in the same version too, and a process of before brings the former format back', async () => {
    await store.write([snapshot(5)], 60_000);
    await redis.hset(PLATFORM_LOAD_KEY, 'before', `${Date.now()}:1`);
    await reportLoad(redis, 'now', 1);
    await compact().write([snapshot(5)], 60_000);
    expect(await text()).toContain('{"format":1,');
    await redis.hdel(PLATFORM_LOAD_KEY, 'before');
    expect(await compact().write([snapshot(5)], 90_000)).toEqual({ written: 0, newer: 0 });
    expect(await text()).toContain('{"format":3');
    expect(await redis.pttl(snapshotKey('acme'))).toBeGreaterThan(60_000);
    expect(await store.read('acme')).toEqual(snapshot(5));
    await redis.hset(PLATFORM_LOAD_KEY, 'before', `${Date.now()}:1`);
    expect(await compact().write([snapshot(4)], 60_000)).toEqual({ written: 0, newer: 1 });
    await compact().write([snapshot(5)], 60_000);
    expect(await text()).toContain('{"format":1,');
  });

  test('stay where a gateway writes the same version, and are replaced by a newer one', async () => {
    await compact().write([snapshot(5)], 60_000);
    await store.write([snapshot(5)], 60_000);
    expect(await text()).toContain('{"format":3');
    await store.write([snapshot(6)], 60_000);
    expect(await store.read('acme')).toEqual(snapshot(6));
  });

  test('do not replace the same version in a format of later', async () => {
    await redis.set(snapshotKey('acme'), '0000000000000005{"format":4,"q":1}');
    await compact().write([snapshot(5)], 60_000);
    expect(await text()).toContain('{"format":4');
  });

  test('are not written where the load reports are none', async () => {
    await redis.set(PLATFORM_LOAD_KEY, 'x');
    expect(await allReadCompactSnapshots(redis)).toBe(false);
    await redis.del(PLATFORM_LOAD_KEY);
    expect(await allReadCompactSnapshots(redis)).toBe(true);
    await reportLoad(redis, 'a', 1);
    await leaveGateways(redis, 'a');
    expect(await redis.exists(PLATFORM_LOAD_KEY)).toBe(0);
  });
});

test.each([
  'x',
  '{"version":1}',
  '9999999999999999{}',
  '0001000000000001{}',
  'zzzzzzzzzzzzzzzz{}',
  '00000000000000-1{}',
  '0000000000000009',
])('a writer overwrites what is no snapshot (%s)', async (text) => {
  await redis.set(snapshotKey('acme'), text);
  await redis.set(DEFAULT_RULES_KEY, text);
  expect(await store.write([snapshot(1)], 60_000)).toEqual({ written: 1, newer: 0 });
  expect(await store.writeDefaultRules({ version: 1, rules: [] })).toBe(true);
  expect(await store.read('acme')).toEqual(snapshot(1));
});

test('a writer overwrites a key of another type', async () => {
  await redis.lpush(snapshotKey('acme'), 'x');
  expect(await store.write([snapshot(1)], 60_000)).toEqual({ written: 1, newer: 0 });
});

test('what cannot be read is replaced, unless something else stands there by then', async () => {
  await redis.set(snapshotKey('acme'), '0000000000000009{"rules":7}');
  const found = await store.find('acme');
  expect(found).toMatchObject({ value: null, unreadable: { reason: 'malformed' } });
  await redis.set(snapshotKey('acme'), '0000000000000010{"rules":8}');
  expect(await store.mend(snapshot(3), found.unreadable!, 60_000)).toBe(false);
  const again = await store.find('acme');
  expect(await store.mend(snapshot(3), again.unreadable!, 60_000)).toBe(true);
  expect(await store.read('acme')).toEqual(snapshot(3));
  expect(await redis.pttl(snapshotKey('acme'))).toBeGreaterThan(0);
});

test('bytes that are no UTF-8 are found and replaced', async () => {
  await redis.set(snapshotKey('acme'), Buffer.from([0x30, 0xff, 0xfe, 0x00]));
  const found = await store.find('acme');
  expect(await store.mend(snapshot(3), found.unreadable!, 60_000)).toBe(true);
  expect(unreadable).toEqual([{ kind: 'snapshot', reason: 'malformed', detail: 'not UTF-8' }]);
});

test('nothing is replaced by what nobody can read, and no format of later at all', async () => {
  await redis.set(snapshotKey('acme'), 'x');
  const found = await store.find('acme');
  expect(await store.mend({ ...snapshot(3), rules: [{ ...rule(), name: 7 }] as never }, found.unreadable!, 60_000)).toBe(false);
  await redis.set(snapshotKey('acme'), '0000000000000009{"format":4}');
  const later = await store.find('acme');
  expect(later.unreadable?.reason).toBe('newer_format');
  expect(await store.mend(snapshot(3), later.unreadable!, 60_000)).toBe(false);
});

describe('a plan', () => {
  const RULES = [rule()];
  const plan = (version: number, changes: Partial<PlanSnapshot> = {}): PlanSnapshot => ({
    plan: 'pro',
    version,
    exists: true,
    rules: RULES,
    ...changes,
  });

  test('lives for ever, and an older one never overwrites a newer one', async () => {
    expect(await store.writePlan(plan(5))).toBe(true);
    expect([await store.writePlan(plan(4)), await store.writePlan(plan(5))]).toEqual([false, false]);
    expect(await store.findPlan('pro')).toEqual({ value: plan(5) });
    expect(await redis.pttl(planKey('pro'))).toBe(-1);
  });

  test('that was deleted leaves a tombstone for a day, and one that is created again takes its place', async () => {
    await store.writePlan(plan(5));
    await store.writePlan(plan(6, { exists: false, rules: [] }));
    expect(await store.writePlan(plan(5))).toBe(false);
    expect((await store.findPlan('pro')).value?.exists).toBe(false);
    expect(await redis.pttl(planKey('pro'))).toBeGreaterThan(3_600_000);
    await store.writePlan(plan(7));
    expect(await redis.pttl(planKey('pro'))).toBe(-1);
  });

  test.each([
    ['of a later format', '0000000000000009{"format":4}', 'newer_format'],
    ['of the format of merchants', '0000000000000009{"format":3}', 'newer_format'],
    ['of another name', '0000000000000009{"format":1,"plan":"free","version":9,"exists":true,"rules":[]}', 'malformed'],
    ['that does not say whether it exists', '0000000000000009{"format":1,"plan":"pro","version":9,"rules":[]}', 'malformed'],
    ['with a rule that is none', '0000000000000009{"format":1,"plan":"pro","version":9,"exists":true,"rules":[{}]}', 'malformed'],
  ])('%s is not believed; only what is no later format is replaced', async (_what, text, reason) => {
    await redis.set(planKey('pro'), text);
    const found = await store.findPlan('pro');
    expect(found).toMatchObject({ value: null, unreadable: { reason } });
    expect(unreadable).toMatchObject([{ kind: 'plan', reason }]);
    expect(await store.mendPlan(plan(3), found.unreadable!)).toBe(reason !== 'newer_format');
  });

  test('is named by the snapshots of its merchants, and a name that is none makes such a snapshot unreadable', async () => {
    const ofPro = { ...snapshot(1), plan: 'pro' };
    await store.write([ofPro], 60_000);
    expect(await store.read('acme')).toEqual(ofPro);
    await redis.set(snapshotKey('acme'), (await redis.get(snapshotKey('acme')))!.replace('"pro"', '"No Name"'));
    expect(await store.find('acme')).toMatchObject({ value: null, unreadable: { reason: 'malformed' } });
  });
});

test('garbage among the load reports is removed, and counts for nothing', async () => {
  await redis.hset(PLATFORM_LOAD_KEY, {
    a: 'x',
    b: '',
    c: '123',
    d: `${Date.now()}:-5`,
    e: `${Date.now()}:1e300`,
    f: `${'9'.repeat(300)}:1`,
    g: `${Date.now()}:nan`,
  });
  expect(await reportLoad(redis, 'one', 10)).toEqual({ perSecond: 10, gateways: 1 });
  expect(await redis.hkeys(PLATFORM_LOAD_KEY)).toEqual(['one#3']);
});
