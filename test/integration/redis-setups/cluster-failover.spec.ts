import { createRedis, openBuckets, type RedisConnection, type StoreFailure } from '#limiter-redis';
import { replicated } from '../../support/redis-process.js';
import { SLOWNESS } from '../../support/patience.mjs';
import { freshRedisCluster, type TestCluster } from '../../support/redis-cluster.js';
import { until } from '../../support/until.js';
import { Asker, limitOf, ruleWith } from './asker.js';

/** A cluster of three masters with a replica each, of which one goes away. */

let servers: TestCluster;
let redis: RedisConnection;
let asker: Asker;
const failures: StoreFailure[] = [];
const availability: boolean[] = [];

beforeAll(async () => {
  servers = await freshRedisCluster({ replicas: true, nodeTimeoutMs: 600 * SLOWNESS });
  redis = createRedis(servers.url, 'limiter');
  await until('the cluster can be used', async () => (await redis.set('ready', '1')) === 'OK', 30_000);
  asker = new Asker(redis, {
    // A busy machine must not make a master late that is well.
    deadlineMs: 300 * SLOWNESS,
    onFailure: (failure) => failures.push(failure),
    onAvailability: (available) => availability.push(available),
  });
});
beforeEach(() => {
  failures.length = 0;
  availability.length = 0;
});
afterAll(async () => {
  asker.close();
  redis.disconnect();
  await servers.stop();
});

const nodeName = (index: number): string => `127.0.0.1:${servers.nodes[index]!.port}`;

/** A merchant for each of the masters. */
async function merchantsOfMasters(): Promise<string[]> {
  const found: string[] = [];
  for (let i = 0; found.filter(Boolean).length < 3; i++) {
    const slot = Number(await servers.client(0).call('CLUSTER', 'KEYSLOT', `tg:{m${i}}`));
    found[Math.min(2, Math.floor((slot * 3) / 16_384))] ??= `m${i}`;
  }
  return found;
}

const rules = [ruleWith('1', [limitOf(50_000)])];
const passes = async (merchantId: string): Promise<boolean> => (await asker.ask(rules, { merchantId })).allowed;

test('a frozen master concerns its own merchants only, and others are decided in time', async () => {
  const [frozen, ...others] = await merchantsOfMasters();
  for (const merchantId of [frozen!, ...others]) expect(await passes(merchantId)).toBe(true);
  servers.freeze(0);
  try {
    // Closed: a request that is not decided in time is refused.
    expect(await passes(frozen!)).toBe(false);
    // At once: soon its replica takes over.
    expect(asker.store.available).toBe(false);
    expect(asker.store.readable).toBe(true);
    expect(new Set(failures.map(({ node }) => node))).toEqual(new Set([nodeName(0)]));
    expect(availability).toEqual([false]);
    for (let i = 0; i < 50; i++) for (const merchantId of others) expect(await passes(merchantId)).toBe(true);
    // Its replica takes over.
    await until('its merchants are served again', () => passes(frozen!), 30_000);
    await until('the master is no longer missed', () => asker.store.available, 30_000);
    // Each change is told once; on a busy machine a probe may be late while the slots move.
    expect(availability).toEqual(availability.map((_, i) => i % 2 === 1));
    expect(availability.at(-1)).toBe(true);
  } finally {
    servers.thaw(0);
  }
  await until('it follows', async () => (await servers.client(0).info('replication')).includes('role:slave'), 30_000);
  for (const merchantId of [frozen!, ...others]) expect(await passes(merchantId)).toBe(true);
});

test('a master that dies under load is replaced, and nobody gets more than what was not replicated', async () => {
  const [, dying] = await merchantsOfMasters();
  const capacity = 300;
  const limited = [ruleWith('2', [limitOf(capacity)])];
  let admitted = 0;
  let refusedAfter = 0;
  let killed = false;
  const ask = async (): Promise<void> => {
    const { allowed, reason } = await asker.ask(limited, { merchantId: dying! });
    if (allowed) admitted++;
    else if (killed && reason === 'over_limit') refusedAfter++;
  };
  for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 5 }, ask));
  // What was acknowledged until here is at the replica.
  await replicated(servers.client(1), `tg:{${dying!}}written last`);
  killed = true;
  await servers.nodes[1]!.kill();
  await until(
    'the new master refuses',
    async () => {
      await ask();
      return refusedAfter > 0;
    },
    60_000,
  );
  // The replica had all of it, so nothing is admitted twice.
  expect(admitted).toBeLessThanOrEqual(capacity);
  expect(admitted).toBeGreaterThan(100);
  await until('all masters carry out takes', () => asker.store.available, 30_000);
});

test('a connection that begins while a master is away serves the others', async () => {
  const [, , frozen] = await merchantsOfMasters();
  servers.freeze(2);
  const late = createRedis(servers.url, 'limiter');
  const store = openBuckets(late, { deadlineMs: 100 * SLOWNESS });
  try {
    await until('the cluster is found', () => late.status === 'ready', 30_000);
    const [other] = await merchantsOfMasters();
    await until('another master answers', async () => (await late.set(`tg:{${other}}:x`, '1')) === 'OK', 10_000);
    await until('the replica of the frozen one answers', async () => (await late.set(`tg:{${frozen}}:x`, '1')) === 'OK', 30_000);
  } finally {
    servers.thaw(2);
    store.close();
    late.disconnect();
  }
});
