/**
 * Two workers of a gateway against one, on all cores: as far as the machine allows, because load, upstream and Redis use some of them too. What does not depend on
 * them is the CPU of a request, of all processes of the gateway together: if it is the same for two workers, two cores of their own carry twice as much.
 */
import { figure, interleaved, rate, ratios } from './shared/figures.mjs';
import { loadText } from './gateway-limiting.mjs';
import { load, openGateway, startGateway, startUpstream, warmUp } from './shared/http-bed.mjs';

export const title = 'a gateway of two workers against one, on all cores';

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const redis = await workshop.redis();
  const upstream = await startUpstream(workshop);
  // It writes the merchants, and is asked for nothing.
  const { ruled, databaseUrl } = await startGateway(workshop, upstream, redis.url);
  const open = (/** @type {string} */ workers) =>
    openGateway(workshop, { upstream, redisUrl: redis.url, databaseUrl, env: { GATEWAY_WORKERS: workers }, measured: 'all' });
  const [one, two] = [await open('1'), await open('2')];
  for (const server of [one, two]) await warmUp(workshop, server, { merchants: ruled, seconds: warmupSeconds });
  const asked = { merchants: ruled, seconds, warmupSeconds, limited: true, quick };
  const results = await interleaved(
    rounds,
    { one: () => load(workshop, one, asked), two: () => load(workshop, two, asked) },
    (side, round, result) => say(`round ${round}: ${side} ${loadText({ ...result, serverBusy: undefined })}`),
  );
  const perSecond = (/** @type {'one' | 'two'} */ side) => (results[side] ?? []).map((result) => result.perSecond);
  const micros = (/** @type {'one' | 'two'} */ side) =>
    (results[side] ?? []).map((result) => (1e6 * (result.serverBusy ?? NaN)) / result.perSecond);
  say(`two workers: ${rate(Math.max(...perSecond('two')))} at most`);
  return [
    figure('workers: two / one', ratios(perSecond('two'), perSecond('one')), { details: results }),
    figure('  two workers', perSecond('two'), { unit: '/s' }),
    figure('  one worker', perSecond('one'), { unit: '/s' }),
    figure('workers: CPU of a request, two / one', ratios(micros('two'), micros('one')), { goal: { atMost: 1.15 } }),
    figure('  two workers, all processes', micros('two'), { unit: 'us' }),
    figure('  one worker, all processes', micros('one'), { unit: 'us' }),
  ];
}
