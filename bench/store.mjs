/** Exact decisions a second through Redis, against redis-benchmark of the same script and against another library. */
import { figure, interleaved, median, rate, ratios } from './shared/figures.mjs';
import { installPeers } from './shared/peers.mjs';
import { gathered, oneByOne, prepareCall } from './shared/store-bed.mjs';

export const title = 'exact decisions a second at 512 in flight over 100,000 buckets';

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  await installPeers(workshop, say);
  const redis = await workshop.redis();
  const call = await prepareCall(redis.url, undefined);

  /** @param {'tollgate' | 'flexible'} subject */
  const takes = (subject) => gathered(workshop, redis, subject, { warmupSeconds, seconds, quick });

  /** @param {number} requests */
  const benchmark = (requests) => oneByOne(workshop, redis, call, requests);
  /** redis-benchmark counts requests, not seconds. */
  let expectedPerSecond = (await benchmark(2_000)).perSecond;

  const results = await interleaved(
    rounds,
    {
      tollgate: () => takes('tollgate'),
      async benchmark() {
        // Short, to learn how many requests fill the time on this machine.
        expectedPerSecond = (await benchmark(Math.ceil(expectedPerSecond * Math.min(1, warmupSeconds)))).perSecond;
        return benchmark(Math.ceil(expectedPerSecond * seconds));
      },
      flexible: () => takes('flexible'),
    },
    (side, round, result) => say(`round ${round}: ${side.padEnd(9)} ${resultText(result)}`),
  );
  const of = (/** @type {string} */ side) => results[side] ?? [];
  const perSecond = (/** @type {string} */ side) => of(side).map((result) => result.perSecond);
  return [
    figure('store / redis-benchmark of its script one by one', ratios(perSecond('tollgate'), perSecond('benchmark')), {
      goal: { atLeast: 3.3 },
      details: results,
    }),
    figure('store / rate-limiter-flexible on Redis', ratios(perSecond('tollgate'), perSecond('flexible')), { goal: { atLeast: 3 } }),
    figure('  store', perSecond('tollgate'), { unit: '/s', details: { p50Ms: median(of('tollgate').map(({ p50Ms }) => p50Ms ?? NaN)) } }),
    figure(
      '  store, p99',
      of('tollgate').map(({ p99Ms }) => p99Ms ?? NaN),
      { unit: 'ms' },
    ),
    figure('  redis-benchmark', perSecond('benchmark'), { unit: '/s' }),
    figure('  rate-limiter-flexible', perSecond('flexible'), { unit: '/s' }),
    figure(
      '  rate-limiter-flexible, p99',
      of('flexible').map(({ p99Ms }) => p99Ms ?? NaN),
      { unit: 'ms' },
    ),
  ];
}

/** @param {import('./shared/store-bed.mjs').StoreResult} result */
function resultText({ perSecond, p99Ms, failures, clientBusy, redisBusy }) {
  const percent = (/** @type {number} */ share) => `${Math.round(share * 100)} %`;
  return [
    rate(perSecond),
    p99Ms !== undefined && `p99 ${p99Ms.toFixed(1)} ms`,
    clientBusy !== undefined && `client ${percent(clientBusy)} of its core`,
    redisBusy !== undefined && `Redis ${percent(redisBusy)}`,
    failures !== undefined && failures > 0 && `${failures} without an answer`,
  ]
    .filter(Boolean)
    .join(', ');
}
