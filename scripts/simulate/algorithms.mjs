/** Replays traffic through the algorithms, against the perfect sliding log. */
import { Refusal } from '../command-line.mjs';
import { Progress } from './progress.mjs';
import { count, percent, table } from './table.mjs';
import { arrivalsOf, describe } from './traffic.mjs';

/**
 * @param {typeof import('../../libs/simulation/src/index.ts')} simulation
 * @param {import('./options.mjs').SimulateOptions} options
 * @returns {Promise<import('../simulate.mjs').Report>}
 */
export async function simulateAlgorithms(simulation, options) {
  const { bound } = options;
  const choices = usable(simulation, options);
  const progress = new Progress(choices.length + 2);
  await progress.step('traffic');
  const arrivals = arrivalsOf(simulation, options);
  const figures = [];
  for (const choice of choices) {
    await progress.step(choice.title);
    figures.push(simulation.replay(choice, arrivals, bound));
  }
  await progress.step('cost of a decision');
  const price = simulation.priceOf(choices, arrivals, bound, () => performance.now());
  progress.done();

  const subtitle = describe(options, arrivals);
  return {
    text: `${subtitle}\n\n${algorithmTable(figures, price, bound)}`,
    pictures: { ...simulation.algorithmCharts(figures, bound, subtitle), ...simulation.priceChart(figures, price, subtitle) },
    json: { options: withoutPlace(options), figures, measured: { nanosecondsPerDecision: Object.fromEntries(price) } },
  };
}

/**
 * The chosen algorithms without those that cannot have the bound, such as a log of a million entries: that is said, and no
 * reason to show nothing of the others.
 * @param {typeof import('../../libs/simulation/src/index.ts')} simulation
 * @param {import('./options.mjs').SimulateOptions} options
 * @throws {Refusal} when none is left
 */
function usable({ ALGORITHMS, boundFault }, { algorithms, bound }) {
  const refused = [];
  const choices = [];
  for (const choice of ALGORITHMS.filter(({ name }) => algorithms.includes(name))) {
    const fault = boundFault(choice, bound);
    if (fault === undefined) choices.push(choice);
    else refused.push(`${choice.name} is left out: ${fault}.`);
  }
  if (choices.length === 0) throw new Refusal(refused.join('\n'));
  for (const line of refused) console.error(line);
  return choices;
}

/**
 * @param {readonly import('../../libs/simulation/src/index.ts').AlgorithmFigures[]} figures
 * @param {ReadonlyMap<string, number>} price
 * @param {import('../../libs/simulation/src/index.ts').Bound} bound
 */
function algorithmTable(figures, price, { limit }) {
  const heading = [
    'algorithm',
    'admitted',
    'of the log',
    'passed wrongly',
    'refused wrongly',
    'worst window',
    'mean error',
    'bytes a key',
    'at most',
    'ns',
  ];
  return table(
    heading,
    figures.map((one) => [
      one.algorithm,
      count(one.admitted),
      percent(one.admitted, one.admittedByLog),
      percent(one.overAdmitted, one.offered),
      percent(one.underAdmitted, one.offered),
      `${(one.worstWindow / limit).toFixed(2)} x`,
      percent(one.meanError, limit),
      count(Math.round(one.meanBytes)),
      count(one.mostBytes),
      count(Math.round(price.get(one.algorithm) ?? 0)),
    ]),
  );
}

/** The JSON of a run must not say on whose machine it was. @param {import('./options.mjs').SimulateOptions} options */
export function withoutPlace({ out: _out, csv: _csv, algorithms, topologies, ...options }) {
  return { ...options, ...(options.what === 'algorithms' ? { algorithms } : { topologies }) };
}
