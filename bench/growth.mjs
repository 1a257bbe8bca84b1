/** How costs grow with keys, rules, connections, gateways and merchants, with a chart of each. */
import { draw } from './growth/chart.mjs';
import { memoryByMerchants, requestsByConnections, requestsByGateways } from './growth/gateways.mjs';
import { choicesByRules, takesByKeys } from './growth/in-process.mjs';
import { figure, median } from './shared/figures.mjs';

export const title = 'growth: what a decision costs with more keys, rules, connections and gateways, and memory with more merchants';

/**
 * @typedef {object} Series
 * @property {string} grows
 * @property {string} title
 * @property {string} unit
 * @property {import('./shared/figures.mjs').Figure['goal']} [goal] of the value at the largest size against that at the smallest
 * @property {(bench: import('./run.mjs').Bench) => Promise<import('./growth/in-process.mjs').Measured[]>} measure
 */

/** By the name of the part, which is that of the chart. @type {Record<string, Series>} */
const SERIES = {
  keys: { grows: 'live keys', title: 'CPU of Redis for a take', unit: 'us', measure: takesByKeys },
  rules: {
    grows: 'rules of a merchant',
    title: 'CPU of choosing among the rules of a merchant',
    unit: 'us',
    goal: { atMost: 2 },
    measure: choicesByRules,
  },
  connections: { grows: 'connections', title: 'CPU of a gateway for a request', unit: 'us', measure: requestsByConnections },
  gateways: {
    grows: 'gateways',
    title: 'CPU of Redis for a request, the same load spread over gateways',
    unit: 'us',
    measure: requestsByGateways,
  },
  merchants: { grows: 'merchants', title: 'Memory of a gateway', unit: 'MB', measure: memoryByMerchants },
};

/** Each part is a run of its own, with servers of its own, so that one that fails takes no other with it. */
export const parts = Object.fromEntries(
  Object.entries(SERIES).map(([name, series]) => [name, (/** @type {import('./run.mjs').Bench} */ bench) => measured(name, series, bench)]),
);

/** There are sixty measurements. What is counted is processor time, so short ones are steady. */
const MOST = { rounds: 3, seconds: 2, warmupSeconds: 1 };

/**
 * @param {string} name
 * @param {Series} series
 * @param {import('./run.mjs').Bench} asked
 */
async function measured(name, series, asked) {
  const bench = {
    ...asked,
    rounds: Math.min(asked.rounds, MOST.rounds),
    seconds: Math.min(asked.seconds, MOST.seconds),
    warmupSeconds: Math.min(asked.warmupSeconds, MOST.warmupSeconds),
  };
  const results = await series.measure(bench);
  bench.say(await chartOf(name, series, results, bench));
  return figuresOf(series, results);
}

/**
 * @param {string} name
 * @param {Series} series
 * @param {import('./growth/in-process.mjs').Measured[]} results
 * @param {import('./run.mjs').Bench} bench
 */
function chartOf(name, { title: heading, grows, unit }, results, { quick, seconds }) {
  const points = results.map(({ size, rounds }) => ({ size, value: median(rounds) }));
  const rounds = results[0]?.rounds.length ?? 0;
  const how = rounds > 1 ? `Median of ${rounds} rounds of ${seconds} s` : 'Measured once';
  const subtitle = `By ${grows}, ${unit}. ${how}${quick ? '; a quick run, which means nothing' : ''}.`;
  return draw({ name, title: heading, grows, unit, points }, { quick, subtitle });
}

/** @param {Series} series @param {import('./growth/in-process.mjs').Measured[]} results */
function figuresOf({ grows, unit, goal }, results) {
  const [first, last] = [results[0], results.at(-1)];
  if (first === undefined || last === undefined) return [];
  const size = (/** @type {{ size: number }} */ each) => each.size.toLocaleString('en');
  const ratio = last.rounds.map((value, i) => value / (first.rounds[i] ?? NaN));
  return [
    figure(`growth: ${size(last)} / ${size(first)} ${grows}`, ratio, { ...(goal && { goal }) }),
    ...results.map((each) => figure(`  ${size(each)} ${grows}`, each.rounds, { unit })),
  ];
}
