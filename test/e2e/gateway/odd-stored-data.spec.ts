import { startLimits, type RuleSpec } from '#limiter';
import { burst } from '#limiter/testing';
import {
  CHANGE_COUNTERS_KEY,
  CHANGES_CHANNEL,
  changeCounterOf,
  DEFAULT_RULES_COUNTER,
  DEFAULT_RULES_KEY,
  snapshotKey,
} from '#limiter-redis';
import { connectWhenUp, createDataSource, MerchantRepository, RuleRepository } from '#rules-db';
import type { DataSource } from 'typeorm';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { BY, merchant } from '../../support/factories/merchants.js';
import { rule, ruleSpec } from '../../support/factories/rules.js';
import { House } from './house.js';

/** Whatever stands in Redis, a gateway serves on, says it once, and asks PostgreSQL instead. */

let house: House;
let dataSource: DataSource;
let gateway: RunningApp;

beforeAll(async () => {
  house = await House.open();
  dataSource = createDataSource(house.database.url);
  await connectWhenUp(dataSource);
  gateway = await house.gateway({ STORE_TIMEOUT_MS: '5000' });
  await house.write('steady', [rule({ capacity: 1_000_000, refillTokens: 1000 })]);
  expect((await house.send(gateway, 'steady')).status).toBe(200);
});

afterAll(async () => {
  await dataSource.destroy();
  await house.close();
});

/** A rule for every request, as it is written. */
const bounded = (capacity: number, changes: Partial<RuleSpec> = {}) =>
  ruleSpec({ match: { methods: [], paths: [] }, limits: [burst({ capacity, refillTokens: 1, refillIntervalMs: 600_000 })], ...changes });

async function create(id: string, capacity: number): Promise<void> {
  await new MerchantRepository(dataSource).create(merchant(id), BY);
  await new RuleRepository(dataSource).create(id, bounded(capacity), BY);
}

const policyOf = async (merchantId: string) => (await house.send(gateway, merchantId)).headers['ratelimit-policy'];
const said = (kind: string, reason: string) => gateway.logs.filter((line) => line['kind'] === kind && line['reason'] === reason).length;
const counted = (kind: string, reason: string) =>
  house.metric(gateway, new RegExp(`^tollgate_ignored_messages_total\\{kind="${kind}",reason="${reason}"[,}]`));

test('garbage on the channel of changes is ignored, and logged once', async () => {
  const odd = [
    'x',
    '',
    '{',
    '7',
    '{"merchantId":"steady"}',
    '"',
    '\u0000',
    '[null]',
    '"'.repeat(100_000),
    '['.repeat(50_000),
    '{"__proto__":1}',
  ];
  for (const message of odd) await house.redis.publish(CHANGES_CHANNEL, message);
  await until(async () => expect((await counted('change', 'malformed')) + (await counted('change', 'too_large'))).toBe(odd.length));
  expect(said('change', 'malformed')).toBe(1);
  expect(said('change', 'too_large')).toBe(1);
  expect((await house.send(gateway, 'steady')).status).toBe(200);
  // The next true message is heard.
  await house.write('steady', [rule({ capacity: 7, refillTokens: 7 })]);
  await until(async () => expect(await policyOf('steady')).toBe('"burst";q=7;w=1'));
});

test.each([
  ['no JSON', 'x'],
  ['JSON of another shape', '0000000000000009{"rules":7}'],
  [
    'a version from an implausible future',
    `9999999999999999${JSON.stringify({ merchantId: 'poison', version: 9_999_999_999_999_999, exists: true, timeZone: 'UTC', rules: [] })}`,
  ],
  [
    'a tombstone of another merchant',
    `0000000000000009${JSON.stringify({ merchantId: 'other', version: 9, exists: false, timeZone: 'UTC', rules: [] })}`,
  ],
  [
    'a rule that no gateway can decide by',
    `0000000000000009${JSON.stringify({ merchantId: 'poison', version: 9, exists: true, timeZone: 'UTC', rules: [{ ...rule(), limits: [{ algorithm: 'token_bucket', capacity: -1 }] }] })}`,
  ],
])('a snapshot that is none (%s): PostgreSQL says what the rules are, and Redis is repaired', async (what, text) => {
  const merchantId = `poison ${what.slice(0, 20)}`;
  await create(merchantId, 5);
  await house.redis.set(snapshotKey(merchantId), text.replaceAll('"poison"', JSON.stringify(merchantId)));
  expect(await policyOf(merchantId)).toBe('"burst";q=5;w=3000');
  await until(async () => expect(await house.snapshots.read(merchantId)).toMatchObject({ merchantId, rules: [{ name: 'card payments' }] }));
  expect(await house.redis.pttl(snapshotKey(merchantId))).toBeGreaterThan(0);
});

test('a snapshot key of another type is repaired as well', async () => {
  await create('listed', 5);
  await house.redis.lpush(snapshotKey('listed'), 'x');
  expect(await policyOf('listed')).toBe('"burst";q=5;w=3000');
  await until(async () => expect(await house.snapshots.read('listed')).toMatchObject({ merchantId: 'listed' }));
  expect(said('snapshot', 'wrong_type')).toBe(1);
});

test('a snapshot in a format of later is left for those that can read it', async () => {
  await create('later', 5);
  const text = `0000000000000002${JSON.stringify({ format: 4, whatever: [] })}`;
  await house.redis.set(snapshotKey('later'), text);
  expect(await policyOf('later')).toBe('"burst";q=5;w=3000');
  await until(async () => expect(await counted('snapshot', 'newer_format')).toBe(1));
  expect(said('snapshot', 'newer_format')).toBe(1);
  expect(await house.redis.get(snapshotKey('later'))).toBe(text);
});

test('default rules with an absurd version do not stay: those of PostgreSQL are in force, and in Redis', async () => {
  await new RuleRepository(dataSource).create(null, bounded(11, { name: 'for all', layer: 'platform' }), BY);
  const poison = [
    `9999999999999999${JSON.stringify({ version: 9_999_999_999_999_999, rules: [] })}`,
    '0000000000000007[]',
    'x',
    `00000000000000-1${JSON.stringify({ version: -1, rules: [] })}`,
    `0000000000000009${JSON.stringify({ version: 9, rules: [{ ...rule(), limits: startLimits([{ name: 'a', algorithm: 'token_bucket', capacity: 1, refillTokens: 1, refillIntervalMs: 1, refill: 'greedy' }], 0), key: ['__proto__'] }] })}`,
  ];
  for (const text of poison) {
    await house.redis.set(DEFAULT_RULES_KEY, text);
    await house.redis.publish(CHANGES_CHANNEL, 'null');
    await until(async () => {
      expect(await policyOf('steady')).toContain('q=11');
      expect(await house.snapshots.readDefaultRules()).toMatchObject({ rules: [{ name: 'for all' }] });
    });
  }
  expect(said('default_rules', 'implausible_version')).toBe(1);
  expect(await counted('default_rules', 'implausible_version')).toBe(2);
});

test('an edit is enforced although other change counters are garbage', async () => {
  const { version } = (await house.snapshots.readDefaultRules())!;
  await house.snapshots.writeDefaultRules({ version: version + 1, rules: [] });
  await house.redis.hset(CHANGE_COUNTERS_KEY, {
    [DEFAULT_RULES_COUNTER]: '77',
    __proto__x: 'y',
    [changeCounterOf('steady')]: 'not a number',
  });
  await until(async () => expect(await policyOf('steady')).toBe('"burst";q=7;w=1'));
});

test('change counters that are no hash are said once, and messages are heard meanwhile', async () => {
  await house.redis.set(CHANGE_COUNTERS_KEY, 'x');
  await until(async () => expect(await counted('change_counters', 'wrong_type')).toBeGreaterThan(1));
  expect(said('change_counters', 'wrong_type')).toBe(1);
  await house.redis.del(CHANGE_COUNTERS_KEY);
  await house.write('steady', [rule({ capacity: 9, refillTokens: 9 })]);
  await until(async () => expect(await policyOf('steady')).toBe('"burst";q=9;w=1'));
});
