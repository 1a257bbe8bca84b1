/** What the gateway adds to the time of a request at half of what it can answer, against the upstream asked directly. */
import { figure, interleaved, median, rate } from './shared/figures.mjs';
import { load, startGateway, startUpstream, warmUp } from './shared/http-bed.mjs';

export const title = 'added latency at half load, against the bare upstream';

const SHARE = 0.5;

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const redis = await workshop.redis();
  const upstream = await startUpstream(workshop);
  const { server, ruled: merchants } = await startGateway(workshop, upstream, redis.url);
  for (const each of [server, upstream]) await warmUp(workshop, each, { merchants, seconds: warmupSeconds });
  const full = await load(workshop, server, { merchants, seconds, warmupSeconds, limited: true, quick });
  const perSecond = Math.round(full.perSecond * SHARE);
  say(`at most ${rate(full.perSecond)}; asked for ${rate(perSecond)}`);

  const paced = { merchants, seconds, warmupSeconds, quick, perSecond };
  const results = await interleaved(
    rounds,
    { gateway: () => load(workshop, server, { ...paced, limited: true }), upstream: () => load(workshop, upstream, paced) },
    (side, round, { p50Ms, p99Ms }) => say(`round ${round}: ${side.padEnd(8)} p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`),
  );
  const p50 = (/** @type {string} */ side) => (results[side] ?? []).map(({ p50Ms }) => p50Ms);
  // Of the middle second: that of a whole round is often made by one moment in which the machine did something else.
  const p99 = (/** @type {string} */ side) => (results[side] ?? []).map(({ p99MsBySecond }) => median(p99MsBySecond.slice(0, seconds)));
  return [
    figure('gateway at half load: added p50', differences(p50('gateway'), p50('upstream')), { unit: 'ms', details: results }),
    figure('gateway at half load: added p99', differences(p99('gateway'), p99('upstream')), { unit: 'ms' }),
    ...['gateway', 'upstream'].flatMap((side) => [
      figure(`  ${side}: p50`, p50(side), { unit: 'ms' }),
      figure(`  ${side}: p99`, p99(side), { unit: 'ms' }),
    ]),
  ];
}

/** Round by round. @param {number[]} ours @param {number[]} theirs */
const differences = (ours, theirs) => ours.map((value, i) => value - /** @type {number} */ (theirs[i]));
