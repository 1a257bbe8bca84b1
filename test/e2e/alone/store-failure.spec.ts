import { burst } from '#limiter/testing';
import { BUSY, SLOWNESS } from '../../support/patience.mjs';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { House } from '../gateway/house.js';

let house: House;
let gateway: RunningApp;

beforeAll(async () => {
  house = await House.open();
  gateway = await house.gateway({ STORE_TIMEOUT_MS: String(25 * SLOWNESS) });
  const anything = { methods: [], paths: [] };
  const three = burst({ capacity: 3, refillTokens: 1, refillIntervalMs: 600_000 });
  await house.store({
    open: [ruleSpec({ match: anything, onStoreFailure: 'open' })],
    closed: [ruleSpec({ match: anything, onStoreFailure: 'closed' })],
    local: [ruleSpec({ match: anything, onStoreFailure: 'local', limits: [three] })],
  });
});

afterAll(() => house.close());

const MERCHANTS = ['open', 'closed', 'local'] as const;

async function warmUp(): Promise<void> {
  for (const merchant of MERCHANTS) {
    await until(async () => expect((await house.send(gateway, merchant)).headers['ratelimit']).toBeDefined());
  }
}

/** How long each answer without Redis took, in both tests. */
const times: number[] = [];

async function expectPolicies(): Promise<void> {
  const send = async (merchant: string) => {
    const answer = await house.send(gateway, merchant);
    times.push(answer.ms);
    return answer;
  };
  for (let i = 0; i < 5; i++) expect((await send('open')).status).toBe(200);
  const closed = await send('closed');
  expect(closed.status).toBe(503);
  expect(closed.headers['retry-after']).toBe('1');
  expect(JSON.parse(closed.body).type).toContain('temporary-reduced-capacity');
  const local: number[] = [];
  for (let i = 0; i < 6; i++) local.push((await send('local')).status);
  expect(local.slice(-2)).toEqual([429, 429]);
  expect(local.filter((status) => status === 200).length).toBeLessThanOrEqual(3);
}

async function expectHealed(): Promise<void> {
  await until(async () => {
    const { status, headers } = await house.send(gateway, 'closed');
    expect(status === 200 || status === 429).toBe(true);
    expect(headers['ratelimit']).toBeDefined();
  });
}

test('Redis frozen: each rule acts by its onStoreFailure, and heals by itself', async () => {
  await warmUp();
  house.redisServer.freeze();
  try {
    await expectPolicies();
    expect(await house.metric(gateway, /^tollgate_store_available/)).toBe(0);
  } finally {
    house.redisServer.thaw();
  }
  await expectHealed();
});

test('Redis killed: likewise; its return with empty hands costs nobody a request', async () => {
  await warmUp();
  await house.redisServer.kill();
  await expectPolicies();
  await house.redisServer.restart();
  await expectHealed();
  // The snapshots are gone with Redis.
  expect((await house.send(gateway, 'open')).status).toBe(200);
});

(BUSY ? test.skip : test)('without Redis half of the answers come within 50 ms (not judged on a busy machine)', () => {
  times.sort((a, b) => a - b);
  expect(times[Math.floor(times.length / 2)]).toBeLessThan(50 * SLOWNESS);
});
