import { startLimits, type Descriptor, type LendOutcome, type LimitSpec, type Rule } from '#limiter';
import {
  carryOverBuckets,
  ChangeFeed,
  createRedis,
  leaveGateways,
  loadScripts,
  preloadBuckets,
  readBusyMerchants,
  RedisClaimStore,
  RedisLimitEventStore,
  RedisReceiptStore,
  RedisSnapshotStore,
  RedisTopKeyStore,
  RedisUsageStore,
  reportLoad,
  writeBusyMerchants,
  type RedisConnection,
  type RuleUsage,
} from '#limiter-redis';
import { ReloadQueue, RELOAD_QUEUE, QUEUE_PREFIX } from '#rule-sync';
import { Worker } from 'bullmq';
import { merchantSnapshot } from '../../support/factories/merchants.js';
import { until } from '../../support/until.js';
import { Asker, limitOf, ruleWith } from './asker.js';
import { firstCode, SETUPS, type Setup } from './setups.js';

/** Everything that Tollgate keeps in Redis, on each of the ways in which Redis is run. */
describe.each(SETUPS)('%s', (_name, start) => {
  let setup: Setup;
  let redis: RedisConnection;
  let asker: Asker;
  const opened: RedisConnection[] = [];

  async function connect(purpose: Parameters<typeof createRedis>[1]): Promise<RedisConnection> {
    const connection = createRedis(setup.url, purpose);
    opened.push(connection);
    await until('the connection is ready', () => connection.status === 'ready', 30_000);
    return connection;
  }

  beforeAll(async () => {
    setup = await start();
    redis = await connect('limiter');
    await until('it can be written to', async () => (await redis.set('ready', '1')) === 'OK', 30_000);
    await loadScripts(redis);
    asker = new Asker(redis);
  });
  afterAll(async () => {
    asker?.close();
    for (const connection of opened) connection.disconnect();
    await setup?.stop();
  });

  const ids = (count: number, name: string) => Array.from({ length: count }, (_, i) => `${name} ${i}`);

  test('nobody is believed whom another authority would have to vouch for', async () => {
    if (setup.untrustingUrl === undefined) expect(setup.url).toMatch(/^redis:/);
    else expect(await firstCode(setup.untrustingUrl)).toBe('TLS');
  });

  test('takes are exact, for many merchants at once', async () => {
    const rules = [ruleWith('1', [limitOf(5), limitOf(7, 'more')])];
    const passed = await Promise.all(ids(40, 'many').map((merchantId) => asker.passed(8, rules, { merchantId })));
    expect(new Set(passed)).toEqual(new Set([5]));
  });

  test('a request takes from all of its buckets or from none, also where merchants share some of them', async () => {
    const own = ruleWith('11', [limitOf(50), limitOf(60, 'more')], { layer: 'merchant' });
    const byAddress = ruleWith('12', [limitOf(4), limitOf(9, 'more')], { layer: 'network', key: ['ip'] });
    const ofAll = ruleWith('13', [limitOf(6)], { layer: 'platform', key: ['method'] });
    expect(await asker.passed(10, [own, byAddress, ofAll], { merchantId: 'shares' })).toBe(4);
    expect(await asker.passed(10, [own, byAddress, ofAll], { merchantId: 'also shares', ip: '192.0.2.2' })).toBe(2);
    // What the others refused was taken from nobody.
    const left = async (): Promise<number[]> => {
      const { limits } = await asker.ask([own], { merchantId: 'shares', times: 0 } as never);
      return limits.map(({ decision }) => decision.remaining);
    };
    await until('what was taken in part is given back', async () => expect(await left()).toEqual([46, 56]));
  });

  test('a penalty counts what its limits refuse, also where others refuse as well', async () => {
    const penalty = { refusals: 3, windowMs: 3_600_000, blockMs: 3_600_000 };
    const own = ruleWith('22', [limitOf(1)], { layer: 'merchant', penalty });
    const byAddress = ruleWith('23', [limitOf(1)], { layer: 'network', key: ['ip'], penalty });
    const request = { merchantId: 'punished', ip: '192.0.2.22' };
    for (let i = 0; i < 4; i++) await asker.ask([own, byAddress], request);
    // What costs nothing counts for no penalty.
    const blocks = async (rule: Rule, of: Partial<Descriptor>) => (await asker.ask([{ ...rule, cost: 0 }], of)).blockedBy?.id;
    await until('both have begun their blocks', async () =>
      expect([await blocks(own, { merchantId: 'punished' }), await blocks(byAddress, { ip: '192.0.2.22' })]).toEqual(['22', '23']),
    );
  });

  test('retries are not charged, and refunds give back', async () => {
    const rules = [ruleWith('14', [limitOf(2)]), ruleWith('15', [limitOf(2)], { layer: 'network', key: ['ip'] })];
    const request = { merchantId: 'retries', ip: '192.0.2.14', retryKey: 'k' };
    expect(await asker.passed(1, rules, request)).toBe(1);
    expect(await asker.ask(rules, request)).toMatchObject({ retried: true });
    const verdict = await asker.ask(rules, { ...request, retryKey: undefined });
    expect(await asker.passed(1, rules, { ...request, retryKey: undefined })).toBe(0);
    for (const reservation of verdict.reservations) reservation.refund();
    await until('it is given back', async () => (await asker.passed(1, rules, { ...request, retryKey: undefined })) === 1);
  });

  test('tokens are lent, and what is lent occupies the bucket', async () => {
    const { bucket, key } = (await asker.ask([ruleWith('21', [limitOf(10)])], { merchantId: 'lent' })).reservations[0]!.takes[0]!;
    const word = { key, bucket, lessee: 7, sequence: 1, forUs: 10_000_000, holds: 0, givesBack: 0, overspent: 0, wants: 6 };
    const lent = await new Promise<LendOutcome>((resolve) => asker.store.lend(word, resolve));
    if (lent instanceof Error) throw lent;
    expect(lent.granted).toBeGreaterThan(0);
    expect(await asker.passed(9, [ruleWith('21', [limitOf(10)])], { merchantId: 'lent' })).toBe(9 - lent.granted);
  });

  test('operators read, reset and block a bucket', async () => {
    const { bucket, key } = (await asker.ask([ruleWith('16', [limitOf(3)])], { merchantId: 'operated' })).reservations[0]!.takes[0]!;
    expect(await asker.store.operate(key, bucket, { kind: 'read' })).toMatchObject({ remaining: 2 });
    expect(await asker.store.operate(key, bucket, { kind: 'reset' })).toMatchObject({ remaining: 3 });
    await asker.store.operate(key, bucket, { kind: 'block', forMs: 60_000 });
    expect(await asker.store.look({ key, bucket, cost: 1 })).toHaveProperty('blockedForUs');
  });

  test('snapshots of many merchants are written together, and read', async () => {
    const store = new RedisSnapshotStore(redis);
    const snapshots = ids(300, 'stored').map((id) => merchantSnapshot(id, { version: 3 }));
    expect(await store.write(snapshots, 60_000)).toEqual({ written: 300, newer: 0 });
    expect(
      await store.write(
        snapshots.map((each) => ({ ...each, version: 2 })),
        60_000,
      ),
    ).toEqual({ written: 0, newer: 300 });
    expect(await Promise.all(snapshots.map(({ merchantId }) => store.read(merchantId)))).toEqual(snapshots);
    expect(await store.writeDefaultRules({ version: 1, rules: [] })).toBe(true);
    expect(await store.readDefaultRules()).toMatchObject({ version: 1 });
    expect(await preloadBuckets(redis, snapshots, 60_000)).toEqual({ created: 0, live: 0 });
    await writeBusyMerchants(redis, ['stored 1', 'stored 2']);
    expect(await readBusyMerchants(redis)).toEqual(['stored 1', 'stored 2']);
  });

  test('buckets are created in advance, and carried over', async () => {
    const rule = ruleWith('17', [limitOf(3), limitOf(9, 'more')]);
    const snapshots = ids(50, 'preloaded').map((id) => merchantSnapshot(id, { rules: [rule] as never }));
    expect(await preloadBuckets(redis, snapshots, 60_000)).toEqual({ created: 100, live: 0 });
    expect(await preloadBuckets(redis, snapshots, 60_000)).toEqual({ created: 0, live: 100 });
    for (const snapshot of snapshots.slice(0, 3)) await carryOverBuckets(redis, snapshot);
  });

  test('changes are heard at once, and counted for those who did not hear', async () => {
    const heard: (string | null)[] = [];
    let counted = 0;
    const subscriber = await connect('subscriber');
    const listener = {
      changed: (id: string | null) => heard.push(id),
      plansChanged: () => {},
      changedSome: (concerns: (id: string) => boolean) => (counted += Number(concerns('changed'))),
    };
    // Counters are compared when the feed begins, and seldom after that.
    const feed = new ChangeFeed(redis, subscriber, listener, 3_600_000);
    await feed.start();
    const snapshots = new RedisSnapshotStore(redis);
    await until('it is heard', async () => {
      await snapshots.announce(['changed', null]);
      await snapshots.announcePlans(['pro']);
      return heard.includes('changed') && heard.includes(null);
    });
    feed.stop();
    counted = 0;
    const polling = new ChangeFeed(redis, await connect('subscriber'), { ...listener, changed: () => {} }, 20);
    await polling.start();
    await until('the first comparison is made', () => counted > 0);
    counted = 0;
    await snapshots.announce(['changed']);
    await until('the counter is seen', () => counted > 0);
    polling.stop();
  });

  test('gateways report their load', async () => {
    await reportLoad(redis, 'one', 5);
    expect(await reportLoad(redis, 'two', 6)).toEqual({ perSecond: 11, gateways: 2 });
    await leaveGateways(redis, 'one');
    expect(await reportLoad(redis, 'two', 6)).toEqual({ perSecond: 6, gateways: 1 });
  });

  test('numbers of many merchants are added once, ranked and read', async () => {
    const usage = new RedisUsageStore(redis);
    const counts: RuleUsage = { ruleId: '1', passed: 1, refused: 2, shadowRefused: 0, leastPercent: 0 };
    const merchants = [...ids(150, 'used'), 'used most'].map((merchantId) => ({
      merchantId,
      rules: [merchantId === 'used most' ? { ...counts, refused: 9 } : counts],
    }));
    const batch = { gateway: 'g', number: 1, merchants };
    await usage.add(batch, 0);
    await usage.add(batch, 0);
    const nowMs = await usage.nowMs();
    const [fromMs, untilMs] = [nowMs - 7_200_000, nowMs + 120_000];
    const found = await usage.read(['used 0', 'used 149', 'used most'], fromMs, untilMs);
    expect([...found.values()].map((steps) => steps.map(({ refused }) => refused))).toEqual([[2], [2], [9]]);
    expect((await usage.ranked('refused', fromMs, untilMs, 500)).length).toBe(151);
    expect((await usage.ranked('refused', fromMs, untilMs, 1))[0]).toEqual({ merchantId: 'used most', ruleId: '1' });
    expect(await usage.lastDay({ merchantId: 'used most', ruleId: '1' }, Date.now())).toMatchObject({ steps: [{ refused: 9 }] });
    const top = new RedisTopKeyStore(redis);
    await top.add([{ rank: 'refused', merchantId: 'used', ruleId: '1', key: { merchant: 'used', user: 'u' }, count: 3 }]);
    expect((await top.ranked('refused', fromMs, untilMs, null)).keys).toMatchObject([{ count: 3 }]);
  });

  test('receipts and events of several merchants are kept', async () => {
    const receipts = new RedisReceiptStore(redis);
    const receipt = { ageMs: 0, isKnownMerchant: true, allowed: false, method: 'POST', path: '/', pathIsCut: false, ignorePathCase: false };
    const told = { ...receipt, reason: 'over_limit', source: 'store', retryAfterMs: 1, limits: [] } as const;
    const some = ids(3, 'told').map((merchantId) => ({ ...told, merchantId, requestId: `of ${merchantId}` }));
    expect(await receipts.add(some as never, { most: 100, perMinute: 20 })).toBe(3);
    expect(await receipts.find('of told 1', null)).toMatchObject({ merchantId: 'told 1' });
    expect((await receipts.newest(10, { merchants: null })).items).toHaveLength(3);
    const events = new RedisLimitEventStore(redis);
    await events.want(['limit.100']);
    const event = { kind: 'limit.100', ruleId: '1', limitId: 0, rule: 'r', limit: 'l', capacity: 1, remaining: 0, ageMs: 0 } as const;
    expect(await events.add(ids(3, 'told').map((merchantId) => ({ ...event, merchantId })))).toMatchObject({ noted: 3 });
    const [first] = await events.oldest(1);
    await events.remove([first!.id]);
    expect(await events.oldest(10)).toHaveLength(2);
  });

  test('a claim is given back once, by another process', async () => {
    const rules = [ruleWith('18', [limitOf(1)]), ruleWith('19', [limitOf(1)], { layer: 'network', key: ['ip'] })];
    const request = { merchantId: 'claims', ip: '192.0.2.18' };
    const claims = new RedisClaimStore(redis, { nowMs: Date.now });
    const name = (await claims.keep((await asker.ask(rules, request)).reservations, 60_000))!;
    expect((await asker.ask(rules, request)).allowed).toBe(false);
    const there = new RedisClaimStore(await connect('limiter'), { nowMs: Date.now });
    expect(await there.refund(name)).toMatchObject({ outcome: 'refunded', given: 2, edited: 0 });
    expect(await claims.refund(name)).toEqual({ outcome: 'ended_before', as: 'refunded' });
    expect((await asker.ask(rules, request)).allowed).toBe(true);
  });

  // A log of takes finds its entry by the time of the take, which each master has measured by itself.
  test.each(['by its request', 'by a claim'])('what several logs have counted is given back %s', async (by) => {
    const log: LimitSpec = { name: 'log', algorithm: 'sliding_log', limit: 1, windowMs: 3_600_000 };
    const claims = new RedisClaimStore(redis, { nowMs: Date.now });
    for (const [i, merchantId] of ids(10, by).entries()) {
      const rules = [ruleWith('20', [log]), ruleWith('21', [log], { layer: 'network', key: ['ip'] })];
      const request = { merchantId, ip: `192.0.${by.length}.${i}` };
      const { reservations } = await asker.ask(rules, request);
      expect((await asker.ask(rules, request)).allowed).toBe(false);
      if (by === 'by a claim') await claims.refund((await claims.keep(reservations, 60_000))!);
      else for (const each of reservations) each.refund();
      await until(async () => (await asker.ask(rules, request)).allowed);
    }
  });

  test('jobs go through the queue', async () => {
    const [producer, consumer] = [await connect('queue-producer'), await connect('queue-worker')];
    const done: unknown[] = [];
    const worker = new Worker(RELOAD_QUEUE, (job) => Promise.resolve(void done.push(job.data)), {
      connection: consumer,
      prefix: QUEUE_PREFIX,
    });
    worker.on('error', () => {});
    const queue = new ReloadQueue(producer);
    await queue.enqueue(ids(3, 'job').map((merchantId) => ({ merchantId, version: 1, changedAtMs: null })));
    await until('the jobs are done', () => done.length === 3, 20_000);
    await queue.handle.close();
    await worker.close(true);
  });

  test('a limit that is edited keeps what was taken', async () => {
    const before = startLimits([limitOf(5)], 0);
    expect(await asker.passed(3, [ruleWith('20', [], { limits: before })], { merchantId: 'edited' })).toBe(3);
    expect(await asker.passed(9, [ruleWith('20', [limitOf(5)])], { merchantId: 'edited' })).toBe(2);
  });
});
