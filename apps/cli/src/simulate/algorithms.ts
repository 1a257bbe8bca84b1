import {
  algorithmCharts,
  ALGORITHMS,
  boundFault,
  priceChart,
  priceOf,
  replay,
  type AlgorithmChoice,
  type AlgorithmFigures,
  type Bound,
} from '#simulation';
import { notStarted } from '../shared/command-error.js';
import { count, note, percent, table } from '../shared/output.js';
import type { Report } from './report.js';
import { Steps } from './steps.js';
import { arrivalsOf, describeTraffic, withoutPlace, type TrafficOptions } from './traffic.js';

/** Replays traffic through the algorithms, against the perfect sliding log. */
export async function simulateAlgorithms(options: TrafficOptions, algorithms: readonly string[]): Promise<Report> {
  const { bound } = options;
  const choices = usable(algorithms, bound);
  const arrivals = arrivalsOf(options);
  const steps = new Steps(choices.length + 1);
  const figures: AlgorithmFigures[] = [];
  for (const choice of choices) {
    await steps.next(choice.title);
    figures.push(replay(choice, arrivals, bound));
  }
  await steps.next('cost of a decision');
  const price = priceOf(choices, arrivals, bound, () => performance.now());
  steps.end();

  const subtitle = describeTraffic(options, arrivals);
  return {
    text: `${subtitle}\n\n${algorithmTable(figures, price, bound)}`,
    pictures: { ...(await algorithmCharts(figures, bound, subtitle)), ...(await priceChart(figures, price, subtitle)) },
    json: {
      options: { what: 'algorithms', ...withoutPlace(options), algorithms },
      figures,
      measured: { nanosecondsPerDecision: Object.fromEntries(price) },
    },
  };
}

/**
 * The chosen algorithms without those that cannot have the bound, such as a log of a million entries: that is said, and no
 * reason to show nothing of the others.
 */
function usable(algorithms: readonly string[], bound: Bound): AlgorithmChoice[] {
  const chosen = ALGORITHMS.filter(({ name }) => algorithms.includes(name));
  const refused = chosen.flatMap((choice) => {
    const fault = boundFault(choice, bound);
    return fault === undefined ? [] : [{ choice, why: `${choice.name} is left out: ${fault}.` }];
  });
  const reasons = refused.map(({ why }) => why).join('\n');
  if (refused.length === chosen.length) throw notStarted(reasons);
  if (refused.length > 0) note(reasons);
  return chosen.filter((each) => !refused.some(({ choice }) => choice === each));
}

function algorithmTable(figures: readonly AlgorithmFigures[], price: ReadonlyMap<string, number>, { limit }: Bound): string {
  return table(
    [
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
    ],
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
