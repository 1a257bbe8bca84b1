import { createRedis, openBuckets, RedisSnapshotStore, type RedisConnection, type StoreFailure } from '#limiter-redis';
import { replicated } from '../../support/redis-process.js';
import { SLOWNESS } from '../../support/patience.mjs';
import { freshSentinelGroup, type TestSentinelGroup } from '../../support/redis-sentinel.js';
import { until } from '../../support/until.js';
import { Asker, limitOf, ruleWith } from './asker.js';

/** A primary with a replica and three Sentinels: the primary becomes a replica, and dies. */

let group: TestSentinelGroup;
let redis: RedisConnection;
let subscriber: RedisConnection;
let asker: Asker;
const failures: StoreFailure[] = [];

beforeAll(async () => {
  group = await freshSentinelGroup({ downAfterMs: 500 * SLOWNESS });
  [redis, subscriber] = [createRedis(group.url, 'limiter'), createRedis(group.url, 'subscriber')];
  await until('the connections are ready', () => redis.status === 'ready' && subscriber.status === 'ready', 30_000);
  // Nothing is frozen here: on a busy machine a take is not to be given up that was carried out.
  asker = new Asker(redis, { deadlineMs: 1000 * SLOWNESS, onFailure: (failure) => failures.push(failure) });
});
afterAll(async () => {
  asker.close();
  for (const connection of [redis, subscriber]) connection.disconnect();
  await group.stop();
});

const CAPACITY = 200;
const rules = [ruleWith('1', [limitOf(CAPACITY)])];
let admitted = 0;
/** Not answered, and perhaps carried out. */
let unknown = 0;

/** Passed, refused by the limit, or not decided. */
async function ask(): Promise<string> {
  const { allowed, reason } = await asker.ask(rules);
  if (allowed) admitted++;
  else if (reason !== 'over_limit') unknown++;
  return reason;
}

async function isReplica(index: 0 | 1): Promise<boolean> {
  return (await group.client(index).info('replication')).includes('role:slave');
}

test('takes go on at the new primary when the old one has become a replica (READONLY)', async () => {
  const heard: string[] = [];
  subscriber.on('message', (_channel: string, message: string) => heard.push(message));
  await subscriber.subscribe('tg:changes');
  for (let i = 0; i < 20; i++) expect(await ask()).toBe('allowed');
  await replicated(group.client(0), 'written last');
  await until('a Sentinel promotes the replica', async () => (await group.failOver()) === 'OK', 30_000);
  await until('the old primary is a replica', () => isReplica(0), 30_000);
  await until('takes are carried out', async () => (await ask()) === 'allowed', 30_000);
  expect(asker.store.available).toBe(true);
  // Whatever was said on the way, it was said by one of a few codes.
  expect(failures.every(({ code }) => ['READONLY', 'DISCONNECTED', 'RESET', 'TIMEOUT', 'REFUSED', 'LOADING', 'OTHER'].includes(code))).toBe(
    true,
  );
  const snapshots = new RedisSnapshotStore(redis);
  await until('changes are heard', async () => {
    await snapshots.announce(['acme']);
    return heard.includes('"acme"');
  });
});

test('a primary that dies under load is replaced, and nothing that was replicated is admitted twice', async () => {
  for (let i = 0; i < 20; i++) await ask();
  await replicated(group.client(1), 'written last');
  await group.servers[1].kill();
  await until('the new primary refuses', async () => (await ask()) === 'over_limit', 60_000);
  expect(admitted).toBeLessThanOrEqual(CAPACITY);
  expect(admitted).toBeGreaterThanOrEqual(CAPACITY - unknown);
  await until('takes are carried out', () => asker.store.available, 30_000);
});

test('a password that Sentinel does not hand out is that of the URL, and a wrong one is named', async () => {
  const wrong = createRedis(group.url.replace('://', '://nobody:hunter2@'), 'limiter');
  const said: StoreFailure[] = [];
  const store = openBuckets(wrong, { deadlineMs: 100 * SLOWNESS, onFailure: (failure) => said.push(failure) });
  try {
    const errors: string[] = [];
    wrong.on('error', (error) => errors.push(error.message));
    await until('the login fails', () => errors.some((message) => message.includes('WRONGPASS')), 30_000);
    await until('it is named', async () => {
      await store.look(asker.take()).catch(() => undefined);
      return said.some(({ code }) => code === 'WRONGPASS');
    });
    expect(JSON.stringify([errors, said])).not.toContain('hunter2');
  } finally {
    store.close();
    wrong.disconnect();
  }
});
