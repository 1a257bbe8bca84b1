/** What a decision costs that another proxy asks for: answers of /v1/check in a second of a core, against a node:http that answers a constant. */
import { join } from 'node:path';
import { ROOT } from '../scripts/paths.mjs';
import { loadText } from './gateway-limiting.mjs';
import { figure, interleaved, median, ratios } from './shared/figures.mjs';
import { halfLoad } from './shared/half-load.mjs';
import { announced, load, perBusySecond, startDecisionApi, warmUp } from './shared/http-bed.mjs';

export const title = 'decision API: a check against a constant of node:http';

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const redis = await workshop.redis();
  const constant = await announced(workshop.node(join(ROOT, 'bench', 'load', 'constant.mjs'), { measured: true }));
  const { server, merchants, leased } = await startDecisionApi(workshop, redis.url);
  const asking = (/** @type {string[]} */ ids) => ({
    merchants: ids,
    post: {
      path: '/v1/check',
      bodies: ids.map((merchant) => JSON.stringify({ merchant, method: 'POST', path: '/transactions/tx-1', ip: '192.0.2.7' })),
    },
  });
  const common = asking(merchants);
  await warmUp(workshop, server, { ...common, seconds: warmupSeconds });
  await warmUp(workshop, server, { ...asking(leased), seconds: warmupSeconds });
  await warmUp(workshop, constant, { ...common, seconds: warmupSeconds });

  const results = await interleaved(
    rounds,
    {
      check: () => load(workshop, server, { ...common, seconds, warmupSeconds, quick }),
      leased: () => load(workshop, server, { ...asking(leased), seconds, warmupSeconds, quick }),
      constant: () => load(workshop, constant, { ...common, seconds, warmupSeconds, status: '429', quick }),
    },
    (side, round, result) => say(`round ${round}: ${side.padEnd(8)} ${loadText(result)}`),
  );
  // The load generator needs more of its core than the constant does of its own.
  const perSecond = (/** @type {string} */ side) => (results[side] ?? []).map(perBusySecond);
  const half = await halfLoad(results['check'] ?? [], rounds, say, (rate) =>
    load(workshop, server, { ...common, seconds, warmupSeconds, perSecond: rate, quick }),
  );
  return [
    figure('decision API: /v1/check / a constant of node:http', ratios(perSecond('check'), perSecond('constant')), {
      goal: { atLeast: 0.7 },
      details: results,
    }),
    figure('decision API: /v1/check of leased merchants / the constant', ratios(perSecond('leased'), perSecond('constant')), {
      goal: { atLeast: 0.8 },
    }),
    figure('  /v1/check of leased merchants', perSecond('leased'), { unit: '/s' }),
    figure('  /v1/check', perSecond('check'), {
      unit: '/s',
      details: { p99Ms: median((results['check'] ?? []).map(({ p99Ms }) => p99Ms)) },
    }),
    figure('  the constant', perSecond('constant'), { unit: '/s' }),
    figure('decision API: p99 of /v1/check at half load', half, { unit: 'ms', goal: { atMost: 2 } }),
  ];
}
