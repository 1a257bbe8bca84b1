import { MINUTE_MS, type MerchantUsage, type UsageBatch } from '#limiter-redis';
import { UsageFlush } from './usage-flush.js';

/** A flush whose Redis, clock and counts are the test's. */
function bed({ mostWaiting = 100 } = {}) {
  const state = { away: false, nowMs: 0, counted: [] as MerchantUsage[], sent: [] as (UsageBatch & { ageMs: number })[] };
  const flush = new UsageFlush({
    gateway: 'g',
    take: () => state.counted.splice(0),
    send: (batch, ageMs) => {
      state.sent.push({ ...structuredClone(batch), ageMs });
      return state.away ? Promise.reject(new Error('away')) : Promise.resolve();
    },
    now: () => state.nowMs,
    mostWaiting,
  });
  const count = (merchantId: string, passed: number, ruleId = '1') =>
    state.counted.push({ merchantId, rules: [{ ruleId, passed, refused: 0, shadowRefused: 0, leastPercent: 100 }] });
  return { state, flush, count };
}

test('a flush sends what was counted once, under a number that grows', async () => {
  const { state, flush, count } = bed();
  count('a', 1);
  await flush.flush();
  await flush.flush();
  count('a', 2);
  await flush.flush();
  expect(state.sent.map(({ number, merchants }) => [number, merchants[0]!.rules[0]!.passed])).toEqual([
    [1, 1],
    [2, 2],
  ]);
});

test('a flush that failed is sent again as it was, under its number and with its age; what came since waits, added up by minute', async () => {
  const { state, flush, count } = bed();
  state.away = true;
  count('a', 1);
  await flush.flush();
  for (const [nowMs, passed] of [
    [10_000, 2],
    [20_000, 3],
    [70_000, 4],
  ] as const) {
    state.nowMs = nowMs;
    count('a', passed);
    await flush.flush();
  }
  expect(flush.failures).toBe(4);
  expect(new Set(state.sent.map(({ number, merchants }) => `${number} ${merchants[0]!.rules[0]!.passed}`))).toEqual(new Set(['1 1']));
  state.away = false;
  state.sent.length = 0;
  state.nowMs = 80_000;
  await flush.flush();
  expect(state.sent.map(({ number, merchants, ageMs }) => [number, merchants[0]!.rules[0]!.passed, ageMs])).toEqual([
    [1, 1, 80_000],
    [2, 5, 70_000],
    [3, 4, 10_000],
  ]);
  expect(flush.dropped).toBe(0);
});

test('while Redis is away a bounded number waits, the oldest is dropped, and that is counted', async () => {
  const { state, flush, count } = bed({ mostWaiting: 5 });
  state.away = true;
  for (let i = 0; i < 20; i++) {
    state.nowMs = i * MINUTE_MS;
    count(`m${i}`, 10);
    await flush.flush();
  }
  expect(flush.dropped).toBe(150);
  state.away = false;
  state.sent.length = 0;
  await flush.flush();
  expect(state.sent.map(({ merchants }) => merchants[0]!.merchantId)).toEqual(['m15', 'm16', 'm17', 'm18', 'm19']);
});

test('numbers that are nearly an hour old are dropped, because they would count for another time', async () => {
  const { state, flush, count } = bed();
  state.away = true;
  count('a', 7);
  await flush.flush();
  state.nowMs = 51 * MINUTE_MS;
  await flush.flush();
  expect(flush.dropped).toBe(7);
});

test('one flush runs at a time, and the next one takes what was counted meanwhile', async () => {
  const { state, flush, count } = bed();
  count('a', 1);
  const running = flush.flush();
  count('b', 2);
  await Promise.all([running, flush.flush()]);
  expect(state.sent.map(({ merchants }) => merchants[0]!.merchantId)).toEqual(['a', 'b']);
});
