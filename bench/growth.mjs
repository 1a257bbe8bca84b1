/** How costs grow with keys, rules, connections, gateways and merchants, with a chart of each. */
import { draw } from './growth/chart.mjs';
import { gatewayBed, memoryByMerchants, requestsByConnections, requestsByGateways } from './growth/gateways.mjs';
import { choicesByRules, takesByKeys } from './growth/in-process.mjs';
import { figure, median } from './shared/figures.mjs';

export const title = 'growth: what a decision costs with more keys, rules, connections and gateways, and memory with more merchants';

/**
 * @typedef {object} Series
 * @property {string} name
 * @property {string} grows
 * @property {string} title
 * @property {string} unit
 * @property {import('./shared/figures.mjs').Figure['goal']} [goal] of the value at the largest size against that at the smallest
 * @property {boolean} [steep]
 * @property {import('./growth/in-process.mjs').Measured[]} measured
 */

/** There are sixty measurements, and the whole is to be done in eight minutes. What is counted is processor time, so short ones are steady. */
const MOST = { rounds: 3, seconds: 2, warmupSeconds: 1 };

/** @param {import('./run.mjs').Bench} asked @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run(asked) {
  const bench = {
    ...asked,
    rounds: Math.min(asked.rounds, MOST.rounds),
    seconds: Math.min(asked.seconds, MOST.seconds),
    warmupSeconds: Math.min(asked.warmupSeconds, MOST.warmupSeconds),
  };
  /** @type {Series[]} */
  const all = [];
  all.push({ name: 'keys', grows: 'live keys', title: 'CPU of Redis for a take', unit: 'us', measured: await takesByKeys(bench) });
  all.push({
    name: 'rules',
    grows: 'rules of a merchant',
    title: 'CPU of choosing among the rules of a merchant',
    unit: 'us',
    goal: { atMost: 2 },
    measured: await choicesByRules(bench),
  });
  const bed = await gatewayBed(bench);
  all.push({
    name: 'connections',
    grows: 'connections',
    title: 'CPU of a gateway for a request',
    unit: 'us',
    measured: await requestsByConnections(bench, bed),
  });
  // Before there are more gateways, which take the same merchants.
  all.push({
    name: 'merchants',
    grows: 'merchants',
    title: 'Memory of a gateway',
    unit: 'MB',
    measured: await memoryByMerchants(bench, bed),
  });
  all.push({
    name: 'gateways',
    grows: 'gateways',
    title: 'CPU of Redis for a request, the same load spread over gateways',
    unit: 'us',
    measured: await requestsByGateways(bench, bed),
  });
  for (const series of all) bench.say(await chartOf(series, bench));
  return all.flatMap(figuresOf);
}

/** @param {Series} series @param {import('./run.mjs').Bench} bench */
function chartOf({ name, title: heading, grows, unit, steep = false, measured }, { quick, rounds, seconds }) {
  const points = measured.map(({ size, rounds: values }) => ({ size, value: median(values) }));
  const subtitle = `By ${grows}, ${unit}. Median of ${rounds} rounds of ${seconds} s${quick ? '; a quick run, which means nothing' : ''}.`;
  return draw({ name, title: heading, grows, unit, points, steep }, { quick, subtitle });
}

/** @param {Series} series */
function figuresOf({ grows, unit, goal, measured }) {
  const [first, last] = [measured[0], measured.at(-1)];
  if (first === undefined || last === undefined) return [];
  const size = (/** @type {{ size: number }} */ each) => each.size.toLocaleString('en');
  const ratio = last.rounds.map((value, i) => value / (first.rounds[i] ?? NaN));
  return [
    figure(`growth: ${size(last)} / ${size(first)} ${grows}`, ratio, { ...(goal && { goal }) }),
    ...measured.map((each) => figure(`  ${size(each)} ${grows}`, each.rounds, { unit })),
  ];
}
