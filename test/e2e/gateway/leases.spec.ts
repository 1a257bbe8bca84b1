import { rule } from '../../support/factories/rules.js';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { House } from './house.js';

let house: House;
let gateway: RunningApp;

beforeAll(async () => {
  house = await House.open();
  gateway = await house.gateway({ STORE_TIMEOUT_MS: '5000', LEASE_HORIZON_MS: '2000' });
});

afterAll(() => house.close());

test('a hot merchant of a leased rule is decided about in the gateway, and its headers never promise more than there is', async () => {
  await house.write('hot', [rule({ consistency: 'leased', capacity: 400, refillTokens: 1, refillIntervalMs: 3_600_000 })]);
  const remaining: number[] = [];
  for (let i = 0; i < 100; i++) {
    const { status, headers } = await house.send(gateway, 'hot');
    expect(status).toBe(200);
    remaining.push(Number(/r=(\d+)/.exec(String(headers['ratelimit']))?.[1]));
  }
  expect(remaining.filter((left, i) => left > 400 - 1 - i)).toEqual([]);
  expect(await house.metric(gateway, /^tollgate_decisions_total\{.*source="lease"/)).toBeGreaterThan(50);
  expect(await house.metric(gateway, /^tollgate_lease_spent_tokens_total/)).toBeGreaterThan(50);
  // Idle, it goes back.
  await until(async () => (await house.metric(gateway, /^tollgate_lease_held_tokens/)) === 0);
});

test('a merchant of an optimistic rule is refused when its tokens are spent, and Redis hears of it', async () => {
  await house.write('keen', [rule({ consistency: 'optimistic', capacity: 50, refillTokens: 1, refillIntervalMs: 3_600_000 })]);
  const answers = await Promise.all(Array.from({ length: 80 }, () => house.send(gateway, 'keen')));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(50);
  expect(await house.metric(gateway, /^tollgate_decisions_total\{.*source="optimistic"/)).toBe(80);
  await until(async () => (await house.metric(gateway, /^tollgate_optimistic_owed_tokens/)) === 0);
});
