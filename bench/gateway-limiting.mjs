/** What limiting costs: requests a second through the gateway by a rule, against the same gateway without one. */
import { figure, interleaved, median, rate, ratios } from './shared/figures.mjs';
import { load, startGateway, startUpstream, warmUp } from './shared/http-bed.mjs';

export const title = 'gateway with a matching rule against limiting off';

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const redis = await workshop.redis();
  const upstream = await startUpstream(workshop);
  const { server, ruled, free } = await startGateway(workshop, upstream, redis.url);
  const ceiling = await load(workshop, upstream, { merchants: free, seconds, warmupSeconds });
  say(`the upstream alone, on the core of the load: ${rate(ceiling.perSecond)}`);
  await warmUp(workshop, server, { merchants: ruled, seconds: warmupSeconds });
  await warmUp(workshop, server, { merchants: free, seconds: warmupSeconds });

  const results = await interleaved(
    rounds,
    {
      ruled: () => load(workshop, server, { merchants: ruled, seconds, warmupSeconds, limited: true, quick }),
      free: () => load(workshop, server, { merchants: free, seconds, warmupSeconds, limited: false, quick }),
    },
    (side, round, result) => say(`round ${round}: ${side === 'ruled' ? 'with a rule ' : 'limiting off'} ${loadText(result)}`),
  );
  const details = { ceilingPerSecond: ceiling.perSecond, ...results };
  const perSecond = (/** @type {'ruled' | 'free'} */ side) => (results[side] ?? []).map((result) => result.perSecond);
  return [
    figure('gateway: with a rule / limiting off', ratios(perSecond('ruled'), perSecond('free')), { goal: { atLeast: 0.77 }, details }),
    figure('  with a rule', perSecond('ruled'), {
      unit: '/s',
      details: { p99Ms: median((results['ruled'] ?? []).map(({ p99Ms }) => p99Ms)) },
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
