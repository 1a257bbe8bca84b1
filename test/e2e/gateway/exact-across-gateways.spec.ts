import { startLimits, type LimitSpec } from '#limiter';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { rule } from '../../support/factories/rules.js';
import { type Answer, House } from './house.js';

let house: House;
let gateways: RunningApp[];

beforeAll(async () => {
  house = await House.open();
  // Exactness is the promise here, not speed: a busy test machine must not turn a late answer into a failure policy.
  gateways = [];
  for (let i = 0; i < 4; i++) gateways.push(await house.gateway({ STORE_TIMEOUT_MS: '10000' }));
});

afterAll(() => house.close());

/** Writes a merchant whose rule every gateway has read before the first request that it counts: to read rules has a deadline of its own. */
async function writeEverywhere(merchantId: string, changes: Parameters<typeof rule>[0]): Promise<void> {
  await house.write(merchantId, [rule({ match: { methods: [], paths: ['/transactions'] }, ...changes })]);
  for (const gateway of gateways)
    await until(async () => expect((await house.send(gateway, merchantId, { path: '/uncounted' })).status).toBe(200));
}

/** Answers by status, and by what those say that are neither. */
function counted(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const name = status === 200 || status === 429 ? String(status) : body;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

test('exactly one of a thousand concurrent requests through four gateways takes the last token', async () => {
  await writeEverywhere('last-token', { capacity: 1, refillIntervalMs: 3_600_000, refillTokens: 1 });
  const answers = await Promise.all(Array.from({ length: 1000 }, (_, i) => house.send(gateways[i % 4]!, 'last-token')));
  expect(counted(answers)).toEqual({ 200: 1, 429: 999 });
});

const HOUR_MS = 3_600_000;
test.each<LimitSpec>([
  { name: 'l', algorithm: 'token_bucket', capacity: 25, refillTokens: 1, refillIntervalMs: HOUR_MS, refill: 'interval' },
  { name: 'l', algorithm: 'gcra', capacity: 25, refillTokens: 1, refillIntervalMs: HOUR_MS },
  { name: 'l', algorithm: 'leaky_bucket', capacity: 25, drainTokens: 1, drainIntervalMs: HOUR_MS },
  { name: 'l', algorithm: 'fixed_window', limit: 25, windowMs: HOUR_MS, start: 'first_request' },
  { name: 'l', algorithm: 'fixed_window', limit: 25, calendar: 'month', timeZone: 'Asia/Tokyo', start: 'clock' },
  { name: 'l', algorithm: 'sliding_log', limit: 25, windowMs: HOUR_MS },
  { name: 'l', algorithm: 'sliding_counter', limit: 25, windowMs: HOUR_MS, parts: 6 },
])('$algorithm: exactly 25 of 400 concurrent requests through four gateways pass', async (spec) => {
  const merchantId = `${spec.algorithm}-${Object.keys(spec).length}`;
  await writeEverywhere(merchantId, { limits: startLimits([spec], Date.now()) });
  const answers = await Promise.all(Array.from({ length: 400 }, (_, i) => house.send(gateways[i % 4]!, merchantId)));
  expect(counted(answers)).toEqual({ 200: 25, 429: 375 });
});

test('four seconds of load through four gateways pass B + r * t requests, give or take one', async () => {
  // It is full ten seconds after it was empty: however long a busy machine stands still, no token is lost.
  const [capacity, perSecond] = [50, 5];
  await writeEverywhere('hammered', { capacity, refillTokens: perSecond });
  let passed = 0;
  let first: number | undefined;
  let last = 0;
  const end = performance.now() + 4_000;
  const client = async (gateway: RunningApp): Promise<void> => {
    while (performance.now() < end) {
      const sent = performance.now();
      first ??= sent;
      const { status } = await house.send(gateway, 'hammered');
      last = performance.now();
      if (status === 200) passed++;
      else expect(status).toBe(429);
    }
  };
  await Promise.all(gateways.flatMap((gateway) => Array.from({ length: 4 }, () => client(gateway))));
  const expected = capacity + (perSecond * (last - first!)) / 1000;
  expect(passed).toBeLessThanOrEqual(expected);
  expect(passed).toBeGreaterThanOrEqual(expected - 2);
});
