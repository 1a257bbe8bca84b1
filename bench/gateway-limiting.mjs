/** What limiting costs: requests a second through the gateway by a rule, against the same gateway without one. */
import { figure, interleaved, median, rate, ratios } from './shared/figures.mjs';
import { load, startGateway, startUpstream, warmUp } from './shared/http-bed.mjs';

export const title = 'gateway with a matching rule against limiting off';

/** @typedef {'ruled' | 'leased' | 'free'} Side */

/** @type {Record<Side, string>} */
const NAMES = { ruled: 'with a rule', leased: 'with a leased rule', free: 'limiting off' };

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const redis = await workshop.redis();
  const upstream = await startUpstream(workshop);
  const { server, ruled, leased, free } = await startGateway(workshop, upstream, redis.url, { LEASE_HORIZON_MS: '10000' });
  const ceiling = await load(workshop, upstream, { merchants: free, seconds, warmupSeconds });
  say(`the upstream alone, on the core of the load: ${rate(ceiling.perSecond)}`);
  await warmUp(workshop, server, { merchants: ruled, seconds: warmupSeconds });
  // Until each of them has come often enough for a lease.
  await warmUp(workshop, server, { merchants: leased, seconds: warmupSeconds * 2 });
  await warmUp(workshop, server, { merchants: free, seconds: warmupSeconds });

  const results = await interleaved(
    rounds,
    {
      ruled: () => load(workshop, server, { merchants: ruled, seconds, warmupSeconds, limited: true, quick }),
      leased: () => load(workshop, server, { merchants: leased, seconds, warmupSeconds, limited: true, quick }),
      free: () => load(workshop, server, { merchants: free, seconds, warmupSeconds, limited: false, quick }),
    },
    (side, round, result) => say(`round ${round}: ${NAMES[/** @type {Side} */ (side)].padEnd(18)} ${loadText(result)}`),
  );
  const details = { ceilingPerSecond: ceiling.perSecond, ...results };
  const perSecond = (/** @type {Side} */ side) => (results[side] ?? []).map((result) => result.perSecond);
  return [
    figure('gateway: with a rule / limiting off', ratios(perSecond('ruled'), perSecond('free')), { goal: { atLeast: 0.85 }, details }),
    figure('  with a leased rule / limiting off', ratios(perSecond('leased'), perSecond('free')), { goal: { atLeast: 0.95 } }),
    figure('  with a rule', perSecond('ruled'), {
      unit: '/s',
      details: { p99Ms: median((results['ruled'] ?? []).map(({ p99Ms }) => p99Ms)) },
    }),
    figure('  with a leased rule', perSecond('leased'), {
      unit: '/s',
      details: { p99Ms: median((results['leased'] ?? []).map(({ p99Ms }) => p99Ms)) },
    }),
    figure('  limiting off', perSecond('free'), {
      unit: '/s',
      details: { p99Ms: median((results['free'] ?? []).map(({ p99Ms }) => p99Ms)) },
    }),
  ];
}

/** @param {import('./shared/http-bed.mjs').LoadResult} result */
export function loadText({ perSecond, p99Ms, serverBusy, busy }) {
  const server = serverBusy === undefined ? '' : `, server ${Math.round(serverBusy * 100)} % of its core`;
  return `${rate(perSecond)}, p99 ${p99Ms.toFixed(1)} ms${server}, load generator ${Math.round(busy * 100)} %`;
}
