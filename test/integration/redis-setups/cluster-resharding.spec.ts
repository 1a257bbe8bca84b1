import { createRedis, type RedisConnection, type StoreFailure } from '#limiter-redis';
import type { Redis } from 'ioredis';
import { freshRedisCluster, type TestCluster } from '../../support/redis-cluster.js';
import { until } from '../../support/until.js';
import { Asker, limitOf, ruleWith } from './asker.js';

/** A slot moves from one master to another while requests take from its buckets. */

let servers: TestCluster;
let redis: RedisConnection;
let asker: Asker;
const failures: StoreFailure[] = [];

beforeAll(async () => {
  servers = await freshRedisCluster();
  redis = createRedis(servers.url, 'limiter');
  await until('the cluster can be used', async () => (await redis.set('ready', '1')) === 'OK', 30_000);
  asker = new Asker(redis, { deadlineMs: 10_000, onFailure: (failure) => failures.push(failure) });
});
beforeEach(() => void (failures.length = 0));
afterAll(async () => {
  asker.close();
  redis.disconnect();
  await servers.stop();
});

const idOf = async (node: Redis): Promise<string> => (await node.call('CLUSTER', 'MYID')) as string;

/** Moves the slot of a merchant as `redis-cli --cluster reshard` does, and asks in each state in between. */
async function move(merchantId: string, inBetween: (state: string) => Promise<void>): Promise<void> {
  const slot = Number(await servers.client(0).call('CLUSTER', 'KEYSLOT', `tg:{${merchantId}}`));
  const from = Math.min(2, Math.floor((slot * 3) / 16_384));
  const to = (from + 1) % 3;
  const [source, target] = [servers.client(from), servers.client(to)];
  const [sourceId, targetId] = [await idOf(source), await idOf(target)];
  await target.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', sourceId);
  await source.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', targetId);
  await inBetween('nothing has moved');
  const keys = (await source.call('CLUSTER', 'GETKEYSINSLOT', slot, 1000)) as string[];
  for (const [i, key] of keys.entries()) {
    await source.call('MIGRATE', '127.0.0.1', servers.nodes[to]!.port, key, 0, 5000);
    await inBetween(i + 1 < keys.length ? 'some keys have moved' : 'all keys have moved');
  }
  for (const node of [target, source]) await node.call('CLUSTER', 'SETSLOT', slot, 'NODE', targetId);
  await inBetween('the slot has moved');
}

test('a bucket keeps its level while its slot moves, and no request fails (MOVED, ASK)', async () => {
  const rules = [ruleWith('1', [limitOf(1000)])];
  const request = { merchantId: 'mover' };
  let asked = await asker.passed(10, rules, request);
  await move('mover', async () => void (asked += await asker.passed(20, rules, request)));
  const { allowed, limits } = await asker.ask(rules, request);
  expect(allowed).toBe(true);
  expect(limits[0]!.decision.remaining).toBe(1000 - asked - 1);
  expect(asked).toBe(10 + 20 * 3);
  expect(failures).toEqual([]);
});

test('a request of several buckets that stand on both sides fails by itself, and opens no breaker (TRYAGAIN)', async () => {
  const both = [ruleWith('2', [limitOf(1000), limitOf(1000, 'more')])];
  const request = { merchantId: 'split' };
  let passed = await asker.passed(10, both, request);
  await move('split', async (state) => {
    const some = await asker.passed(5, both, request);
    expect([state, some]).toEqual([state, state === 'some keys have moved' ? 0 : 5]);
    passed += some;
    expect(asker.store.available).toBe(true);
    // Nobody else is concerned.
    expect(await asker.passed(3, both, { merchantId: `other ${state}` })).toBe(3);
  });
  const { limits } = await asker.ask(both, request);
  expect(limits.map(({ decision }) => decision.remaining)).toEqual([1000 - passed - 1, 1000 - passed - 1]);
  expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['TRYAGAIN']));
});
