/** What conditions cost: requests a second by rules with 1, 10 and 100 of them, against a rule without. */
import { loadText } from './gateway-limiting.mjs';
import { figure, interleaved, ratios } from './shared/figures.mjs';
import { load, perBusySecond, startGateway, startUpstream, warmUp, writeMerchants } from './shared/http-bed.mjs';

export const title = 'rules with 1, 10 and 100 conditions against one without';

const COUNTS = [1, 10, 100];
/** So few that all of their rules are read and compiled before it is measured. */
const FEW = 100;

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const redis = await workshop.redis();
  const upstream = await startUpstream(workshop);
  /** @type {Record<string, string[]>} */
  const merchants = {};
  for (const count of COUNTS)
    merchants[count] = await writeMerchants(redis.url, `conditions-${count}`, FEW, true, { endless: true, conditions: count });
  const { server, ruled } = await startGateway(workshop, upstream, redis.url);
  merchants['none'] = ruled.slice(0, FEW);

  for (const each of Object.values(merchants)) await warmUp(workshop, server, { merchants: each, seconds: warmupSeconds });
  const sides = Object.entries(merchants).map(([name, each]) => [
    name,
    () => load(workshop, server, { merchants: each, seconds, warmupSeconds, limited: true, quick }),
  ]);
  const results = await interleaved(rounds, Object.fromEntries(sides), (side, round, result) =>
    say(`round ${round}: ${side.padEnd(4)} conditions ${loadText(result)}`),
  );
  const perSecond = (/** @type {string} */ side) => (results[side] ?? []).map(perBusySecond);
  return COUNTS.map((count) =>
    figure(
      `gateway: with ${count} ${count === 1 ? 'condition' : 'conditions'} / without`,
      ratios(perSecond(String(count)), perSecond('none')),
      {
        details: { with: results[count], without: results['none'] },
      },
    ),
  );
}
