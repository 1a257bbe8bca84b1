/** What the fast lane saves: requests that the gateway forwards and refuses in a second of its core, against the same gateway without it. */
import { loadText } from './gateway-limiting.mjs';
import { figure, interleaved, ratios } from './shared/figures.mjs';
import { load, openGateway, perBusySecond, startGateway, startUpstream, warmUp } from './shared/http-bed.mjs';

export const title = 'gateway with the fast lane against the same without it';

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const redis = await workshop.redis();
  const upstream = await startUpstream(workshop);
  const { server: off, ruled, refused, databaseUrl } = await startGateway(workshop, upstream, redis.url, { GATEWAY_FAST_LANE: 'off' });
  const on = await openGateway(workshop, { upstream, redisUrl: redis.url, databaseUrl, env: { GATEWAY_FAST_LANE: 'on' } });
  const kinds = {
    forwarded: { merchants: ruled, limited: true },
    refused: { merchants: refused, status: '429' },
  };
  const figures = [];
  for (const [kind, options] of Object.entries(kinds)) {
    for (const server of [off, on]) await warmUp(workshop, server, { ...options, seconds: warmupSeconds });
    const results = await interleaved(
      rounds,
      {
        on: () => load(workshop, on, { ...options, seconds, warmupSeconds, quick }),
        off: () => load(workshop, off, { ...options, seconds, warmupSeconds, quick }),
      },
      (side, round, result) => say(`round ${round}: ${kind}, fast lane ${side} ${loadText(result)}`),
    );
    const of = (/** @type {'on' | 'off'} */ side) => (results[side] ?? []).map(perBusySecond);
    figures.push(figure(`gateway: ${kind} requests with the fast lane / without`, ratios(of('on'), of('off')), { details: results }));
  }
  return figures;
}
