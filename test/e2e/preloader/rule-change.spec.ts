import type { Redis } from 'ioredis';
import { CHANGES_CHANNEL, CHANGE_COUNTERS_KEY, changeCounterOf, planKey } from '#limiter-redis';
import { PlanRepository } from '#rules-db';
import { BUSY } from '../../support/patience.mjs';
import type { RunningApp } from '../../support/processes.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { until } from '../../support/until.js';
import { BY, merchant } from '../../support/factories/merchants.js';
import { House, metric } from './house.js';

/** Far more than the two seconds of the promise, which the last test looks at: a busy machine must not fail the others. */
const CARRIED_WITHIN_MS = 10_000;

describe('a change in PostgreSQL', () => {
  let house: House;
  let app: RunningApp;
  let subscriber: Redis;
  const announced: unknown[] = [];

  beforeAll(async () => {
    house = await House.open();
    subscriber = house.redis.duplicate();
    subscriber.on('message', (_, message: string) => announced.push(JSON.parse(message)));
    await subscriber.subscribe(CHANGES_CHANNEL);
    app = await house.preloader();
    await until('the first full preload', () => app.logs.some(({ msg }) => msg === 'full preload done'));
  });
  beforeEach(() => void announced.splice(0));
  afterAll(async () => {
    subscriber.disconnect();
    await house.close();
  });

  const snapshotOf = (id: string, version: number) =>
    until(
      `snapshot of ${id} at version ${version}`,
      async () => {
        const snapshot = await house.snapshots.read(id);
        return snapshot?.version === version && snapshot;
      },
      CARRIED_WITHIN_MS,
    );

  test.each(['acme', 'a:b', '{c}', 'with space', '"quoted"', '🦊', 'default-rules'])(
    'of merchant %j reaches Redis and is announced',
    async (id) => {
      await house.merchants.create(merchant(id), BY);
      await snapshotOf(id, 1);
      const counter = Number(await house.redis.hget(CHANGE_COUNTERS_KEY, changeCounterOf(id)));
      await house.rules.create(id, ruleSpec(), BY);
      const snapshot = await snapshotOf(id, 2);
      expect(snapshot.exists).toBe(true);
      expect(snapshot.rules).toMatchObject([{ name: ruleSpec().name, priority: ruleSpec().priority }]);
      await until('the announcement', () => announced.filter((each) => each === id).length >= 2, CARRIED_WITHIN_MS);
      expect(Number(await house.redis.hget(CHANGE_COUNTERS_KEY, changeCounterOf(id)))).toBeGreaterThan(counter);
      await until('the outbox is empty', async () => (await house.outboxRows()) === 0);
    },
  );

  test('of a plan reaches Redis once for all of its merchants, and a full preload brings back what is lost', async () => {
    const plans = new PlanRepository(house.dataSource);
    await plans.create('pro', { note: '', labels: {} }, BY);
    for (const id of ['first', 'second']) await house.merchants.create({ ...merchant(id), plan: 'pro' }, BY);
    for (const id of ['first', 'second']) expect(await snapshotOf(id, 1)).toMatchObject({ plan: 'pro', rules: [] });
    const rulesInRedis = async () => (await house.snapshots.findPlan('pro')).value?.rules.map(({ name }) => name);
    await house.rules.create({ plan: 'pro' }, ruleSpec(), BY);
    await until('the rule is in Redis', async () => (await rulesInRedis())?.length === 1, CARRIED_WITHIN_MS);
    await until('the announcement', () => announced.some((each) => (each as { plan?: string } | null)?.plan === 'pro'), CARRIED_WITHIN_MS);
    await snapshotOf('first', 1);
    await until('the outbox is empty', async () => (await house.outboxRows()) === 0);
    await house.redis.del(planKey('pro'));
    await house.preloads.request();
    await until('the plan is in Redis again', async () => (await rulesInRedis())?.[0] === ruleSpec().name, CARRIED_WITHIN_MS);
  });

  test('that deletes a merchant leaves a tombstone, and a new merchant of the same id continues from its version', async () => {
    await house.merchants.create(merchant('brief'), BY);
    await house.merchants.delete('brief', 'any', BY);
    expect(await snapshotOf('brief', 2)).toMatchObject({ exists: false, rules: [] });
    await house.merchants.create(merchant('brief'), BY);
    expect(await snapshotOf('brief', 3)).toMatchObject({ exists: true });
  });

  test('of the default rules reaches Redis and is announced', async () => {
    await house.rules.create(null, ruleSpec({ name: 'default' }), BY);
    const snapshot = await until('the default rules', async () => {
      const rules = await house.snapshots.readDefaultRules();
      return rules?.rules.length === 1 && rules;
    });
    expect(snapshot.rules).toMatchObject([{ name: 'default' }]);
    await until('the announcement', () => announced.includes(null));
  });

  test('that is relayed late, twice and in the wrong order leads to the rules that PostgreSQL holds', async () => {
    await house.merchants.create(merchant('often'), BY);
    for (let i = 0; i < 5; i++) await house.rules.create('often', ruleSpec({ name: `rule ${i}` }), BY);
    await house.dataSource.query(
      `INSERT INTO outbox (merchant_id, version) VALUES ('often', 6), ('often', 1), ('often', 3), ('often', 6), ('nobody', 9)`,
    );
    const snapshot = await snapshotOf('often', 6);
    await until('the outbox is empty', async () => (await house.outboxRows()) === 0);
    expect(snapshot.rules).toHaveLength(5);
    await until('nothing left to do', async () => (await metric(app, 'tollgate_reload_jobs_total', { outcome: 'missing' })) === 1);
    expect(await house.snapshots.read('often')).toEqual(snapshot);
    expect(await house.snapshots.read('nobody')).toBeNull();
    expect(await metric(app, 'tollgate_jobs_failed')).toBe(0);
  });

  test('never goes back: an older version does not overwrite a newer one', async () => {
    await house.merchants.create(merchant('ahead'), BY);
    const snapshot = await snapshotOf('ahead', 1);
    await house.snapshots.write([{ ...snapshot, version: 50 }], 60_000);
    announced.splice(0);
    await house.rules.create('ahead', ruleSpec(), BY);
    await until('the reload', () => announced.includes('ahead'));
    expect((await house.snapshots.read('ahead'))?.version).toBe(50);
  });

  test('does not refill a live bucket, nor does a full preload', async () => {
    await house.merchants.create(merchant('busy'), BY);
    await house.rules.create('busy', ruleSpec(), BY);
    await snapshotOf('busy', 2);
    const key = await until('its bucket', async () => (await house.redis.keys('tg:{*')).find((name) => name.includes('busy')) ?? null);
    await house.redis.set(key, 'in use', 'KEEPTTL');

    await house.merchants.update('busy', 'any', { name: 'Busy' }, BY);
    await snapshotOf('busy', 3);
    const { jobId } = await house.preloads.request();
    await until('the full preload', async () => (await house.preloads.look(jobId))?.state === 'completed');
    expect(await house.redis.get(key)).toBe('in use');
  });

  test('is counted and timed', async () => {
    expect(await metric(app, 'tollgate_outbox_relayed_total')).toBeGreaterThan(10);
    expect(await metric(app, 'tollgate_snapshots_written_total')).toBeGreaterThan(10);
    expect(await metric(app, 'tollgate_rule_change_lag_seconds_count')).toBeGreaterThan(10);
  });

  (BUSY ? test.skip : test)('takes less than two seconds, four times in five (not judged on a busy machine)', async () => {
    const changes = await metric(app, 'tollgate_rule_change_lag_seconds_count');
    expect(await metric(app, 'tollgate_rule_change_lag_seconds_bucket', { le: '2' })).toBeGreaterThan(changes * 0.8);
  });
});
