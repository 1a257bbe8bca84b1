import type { Bound } from '../bound.js';
import { barCharts, short, smallMultiples, type Bar } from '../charts/index.js';
import type { AlgorithmFigures } from './replay.js';

/** Pictures by the names of their files, without the ending. */
export type Pictures = Record<string, string>;

/** The algorithm that is recommended where nothing speaks for another one. */
const RECOMMENDED = 'token bucket';

/** What a replay shows. `subtitle` says what was replayed. */
export async function algorithmCharts(figures: readonly AlgorithmFigures[], bound: Bound, subtitle: string): Promise<Pictures> {
  return {
    'admitted-over-time': await courses(figures, bound, subtitle),
    'algorithms-compared': await comparison(figures, bound, subtitle),
  };
}

function courses(figures: readonly AlgorithmFigures[], { limit }: Bound, subtitle: string): Promise<string> {
  const endMs = Math.max(1, figures[0]?.course.at(-1)?.atMs ?? 0);
  const most = Math.max(2 * limit, ...figures.flatMap(({ course }) => course.map(({ admitted }) => admitted)));
  return smallMultiples(
    {
      title: 'Admitted within the last window, at each moment',
      subtitle,
      notes: [
        `Line: the algorithm. Grey: the perfect sliding log, which never admits more than ${short(limit)} in any window. Dashed: ${short(limit)}.`,
        'A bucket rises above it on purpose: it promises a burst of its capacity at any time, and its refill rate besides.',
      ],
    },
    {
      x: { label: 'seconds', domain: [0, endMs / 1000] },
      y: { label: '', domain: [0, most * 1.05], ticks: [0, limit, 2 * limit] },
      mark: limit,
      highlighted: RECOMMENDED,
      panels: figures.map(({ title, course }) => ({
        name: title,
        points: course.map(({ atMs, admitted, admittedByLog }) => ({ x: atMs / 1000, y: admitted, reference: admittedByLog })),
      })),
    },
  );
}

function comparison(figures: readonly AlgorithmFigures[], { limit }: Bound, subtitle: string): Promise<string> {
  const bars = (value: (one: AlgorithmFigures) => number): Bar[] => figures.map((one) => ({ name: one.title, value: value(one) }));
  const percent = (value: number): string => `${value.toFixed(1)} %`;
  return barCharts(
    {
      title: 'What the same bound means to each algorithm',
      subtitle,
      notes: [
        `All are measured against "${short(limit)} in any window". The token bucket promises something else: a burst of ${short(limit)} whenever it is full,`,
        `and ${short(limit)} more in the course of a window. That it admits up to twice the limit in one window is its purpose, and no error. Where the`,
        'limit must hold in every window, give it half the capacity and half the rate.',
      ],
    },
    [
      {
        name: 'Most admitted in any one window, of its limit',
        bars: bars(({ worstWindow }) => worstWindow / limit),
        mark: 1,
        format: (value) => `${value.toFixed(2)} ×`,
      },
      {
        name: 'How far what it counts as used is from the log, on average',
        bars: bars(({ meanError }) => (100 * meanError) / limit),
        format: percent,
      },
      { name: 'Passed here, refused by the perfect log', bars: bars((one) => share(one.overAdmitted, one.offered)), format: percent },
      { name: 'Refused here, passed by the perfect log', bars: bars((one) => share(one.underAdmitted, one.offered)), format: percent },
      { name: 'Memory of a key at most, in bytes (logarithmic scale)', bars: bars(({ mostBytes }) => mostBytes), logFrom: 1 },
    ],
    RECOMMENDED,
  );
}

/** The only picture that a seed does not repeat: time measured on this machine. */
export async function priceChart(
  figures: readonly AlgorithmFigures[],
  price: ReadonlyMap<string, number>,
  subtitle: string,
): Promise<Pictures> {
  const bars = figures.map(({ algorithm, title }) => ({ name: title, value: price.get(algorithm) ?? 0 }));
  const notes = ['Measured in one process, without the way to the store, which costs a thousand times as much.'];
  return {
    'decision-cost': await barCharts(
      { title: 'What a decision costs', subtitle, notes },
      [{ name: 'Nanoseconds a decision', bars, format: (value) => `${short(value)} ns` }],
      RECOMMENDED,
    ),
  };
}

const share = (part: number, whole: number): number => (100 * part) / Math.max(1, whole);
