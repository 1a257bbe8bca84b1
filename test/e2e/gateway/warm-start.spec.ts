import { readBusyMerchants, writeBusyMerchants } from '#limiter-redis';
import { until } from '../../support/until.js';
import { rule, ruleSpec } from '../../support/factories/rules.js';
import { House } from './house.js';

let house: House;

beforeEach(async () => {
  house = await House.open();
});

afterEach(() => house.close());

test('a gateway that is ready has the rules of the busiest merchants at hand, and leaves nothing of its rehearsal in Redis', async () => {
  await house.snapshots.writeDefaultRules({ version: 1, rules: [] });
  for (let i = 0; i < 60; i++) await house.write(`m${i}`, [rule()]);
  await writeBusyMerchants(
    house.redis,
    Array.from({ length: 60 }, (_, i) => `m${i}`),
  );
  const keys = (await house.redis.keys('*')).sort();
  const gateway = await house.gateway({ STORE_TIMEOUT_MS: '5000' });
  expect(await house.metric(gateway, /^tollgate_cached_merchants/)).toBe(60);
  expect(gateway.logs.find(({ msg }) => msg === 'warmed up')).toMatchObject({ redisAnswered: true, merchants: 60, decisions: 400 });
  expect(gateway.logs.find(({ msg }) => msg === 'rehearsed')).toMatchObject({ requests: 40 });
  // Its rehearsal has an upstream of its own.
  expect(house.received).toEqual([]);
  // That it lives, it says to the other gateways.
  expect((await house.redis.keys('*')).filter((key) => key !== 'tg:load').sort()).toEqual(keys);
  expect((await house.send(gateway, 'm7')).status).toBe(200);
  // What was decided in the rehearsal is no traffic.
  expect(await house.metric(gateway, /^tollgate_decisions_total/)).toBe(1);
  expect(await house.metric(gateway, /^tollgate_requests_total/)).toBe(1);
});

test('a gateway that stops tells the next one which merchants came first; those that do not exist are not among them', async () => {
  await house.write('first', [rule()]);
  await house.write('second', [rule()]);
  await house.write('deleted', [], { exists: false });
  const gateway = await house.gateway({ STORE_TIMEOUT_MS: '5000' });
  for (const merchant of ['first', 'deleted', 'second', 'first']) await house.send(gateway, merchant);
  await gateway.stop();
  expect(await readBusyMerchants(house.redis)).toEqual(['first', 'second']);
});

test('Redis is frozen: a gateway is ready all the same, and acts by its rules', async () => {
  house.redisServer.freeze();
  try {
    const gateway = await house.gateway();
    expect(gateway.logs.find(({ msg }) => msg === 'warmed up')).toMatchObject({ redisAnswered: false });
    // Nobody knows this merchant, and PostgreSQL says so.
    await until(async () => expect((await house.send(gateway, 'nobody')).status).toBe(403));
  } finally {
    house.redisServer.thaw();
  }
});

test('Redis is frozen: rules that are not at hand come from PostgreSQL before Redis is given up', async () => {
  await house.store({ acme: [ruleSpec({ match: { methods: [], paths: ['/limited/**'] } })] });
  // Redis' own deadline for rules would be three seconds, and nobody waits longer than two.
  const gateway = await house.gateway({ STORE_TIMEOUT_MS: '5000' });
  house.redisServer.freeze();
  try {
    // No rule matches, so nothing is taken.
    expect((await house.send(gateway, 'acme', { path: '/free' })).status).toBe(200);
    expect(await house.metric(gateway, /^tollgate_store_available/)).toBe(1);
  } finally {
    house.redisServer.thaw();
  }
});
