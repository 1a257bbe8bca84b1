import { BUSY } from '../../support/patience.mjs';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { rule } from '../../support/factories/rules.js';
import { House } from '../gateway/house.js';

let house: House;
let gateway: RunningApp;

beforeAll(async () => {
  house = await House.open();
  gateway = await house.gateway({ STORE_TIMEOUT_MS: '5000' });
});
afterAll(() => house.close());

const HOUR_MS = 3_600_000;
const small = (fields: Parameters<typeof rule>[0] = {}) => rule({ capacity: 3, refillTokens: 1, refillIntervalMs: HOUR_MS, ...fields });

/** Requests that are under way together. */
const AT_ONCE = 50;

/** Script calls that Redis has carried out, ever. */
async function calls(): Promise<number> {
  const text = await house.redis.info('commandstats');
  return ['evalsha', 'eval'].reduce((sum, name) => sum + Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(text)?.[1] ?? 0), 0);
}

async function flood(merchant: string, requests: number, path?: string): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {};
  const one = async () => {
    const { status } = await house.send(gateway, merchant, path === undefined ? {} : { path });
    statuses[status] = (statuses[status] ?? 0) + 1;
  };
  for (let i = 0; i < requests; i += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, one));
  return statuses;
}

/** What the flood cost: script calls of Redis, whole seconds, and refusals from memory. */
let cost: { calls: number; seconds: number; remembered: number };

test('a merchant that floods gets what its limit lets through, and every other request is refused and counted', async () => {
  await house.write('flooding', [small()]);
  await house.send(gateway, 'flooding');
  const before = await calls();
  const startedMs = performance.now();
  expect(await flood('flooding', 3000)).toEqual({ 200: 2, 429: 2998 });
  const seconds = Math.ceil((performance.now() - startedMs) / 1000);
  const remembered = await house.metric(gateway, /^tollgate_remembered_refusals_total\b/);
  cost = { calls: (await calls()) - before, seconds, remembered };
  expect(remembered).toBeGreaterThan(0);
  expect(await house.metric(gateway, /^tollgate_decisions_total\{reason="over_limit"/)).toBe(2998);
});

(BUSY ? test.skip : test)('at full speed it costs Redis less than a call in a hundred refusals (not judged on a busy machine)', () => {
  // Each second one take, one report of load, what is told of usage, and receipts, ten times.
  expect(cost.calls).toBeLessThanOrEqual(4 + 16 * cost.seconds);
  expect(cost.calls).toBeLessThan(0.01 * 2998 * cost.seconds);
  expect(cost.remembered).toBeGreaterThan(2500);
});

test('a remembered refusal says how long it lasts, as one of Redis does', async () => {
  await house.write('counting', [small({ capacity: 1, refillTokens: 1, refillIntervalMs: 4000 })]);
  const beforeMs = performance.now();
  expect((await house.send(gateway, 'counting')).status).toBe(200);
  const afterMs = performance.now();
  const refusals: { askedMs: number; answeredMs: number; headers: Record<string, unknown>; body: string }[] = [];
  await until(
    'it passes again',
    async () => {
      const askedMs = performance.now();
      const { status, headers, body } = await house.send(gateway, 'counting');
      if (status === 200) return true;
      refusals.push({ askedMs, answeredMs: performance.now(), headers, body });
      return false;
    },
    20_000,
  );
  expect(refusals.length).toBeGreaterThan(0);
  for (const { askedMs, answeredMs, headers, body } of refusals) {
    const seconds = Number(headers['retry-after']);
    // However late a busy machine asks or answers, what is named lies between these.
    expect(seconds).toBeGreaterThanOrEqual(Math.max(1, Math.floor((beforeMs + 4000 - answeredMs) / 1000)));
    expect(seconds).toBeLessThanOrEqual(Math.ceil((afterMs + 4000 - askedMs) / 1000));
    expect(headers['ratelimit-policy']).toBe('"burst";q=1;w=4');
    expect(headers['ratelimit']).toBe(`"burst";r=0;t=${seconds}`);
    expect(JSON.parse(body)).toMatchObject({
      status: 429,
      detail: `Too many requests: burst. Try again in ${seconds} s.`,
      requestId: headers['x-request-id'],
    });
  }
});

test('an edit ends a remembered refusal at once, and an operation elsewhere within a second', async () => {
  await house.write('edited', [small()]);
  expect(await flood('edited', 50)).toEqual({ 200: 3, 429: 47 });
  await house.write('edited', [small({ id: '2', capacity: 5 })]);
  await until(async () => expect((await house.send(gateway, 'edited')).status).toBe(200));
  expect(await flood('edited', 50)).toEqual({ 200: 4, 429: 46 });
  // As an operation of another process would leave it.
  await house.redis.del('tg:{edited}2.0');
  await until(async () => expect((await house.send(gateway, 'edited')).status).toBe(200), 2_500);
});

test('a penalty begins at the same refusal as without remembering', async () => {
  await house.write('penalized', [small({ penalty: { refusals: 30, windowMs: 60_000, blockMs: 60_000 } })]);
  const reasons: boolean[] = [];
  for (let i = 0; i < 40; i++) {
    const { status, body } = await house.send(gateway, 'penalized');
    if (status === 429) reasons.push(String(JSON.parse(body).detail).startsWith('Blocked'));
  }
  expect(reasons.indexOf(true)).toBe(30);
  expect(await house.metric(gateway, /^tollgate_blocks_total\b/)).toBe(1);
});

test('a penalty counts across gateways, and is told when the flood is over', async () => {
  const other = await house.gateway({ STORE_TIMEOUT_MS: '5000' });
  await house.write('shared penalty', [small({ penalty: { refusals: 40, windowMs: 60_000, blockMs: 60_000 } })]);
  for (const each of [gateway, other]) for (let i = 0; i < 25; i++) await house.send(each, 'shared penalty');
  await until(
    'the block has begun',
    async () => JSON.parse((await house.send(other, 'shared penalty')).body).detail.startsWith('Blocked'),
    10_000,
  );
});
