import type { Bound } from '../bound.js';
import { barCharts, smallMultiples, type Bar } from '../charts/index.js';
import { short } from '../charts/axis.js';
import type { AlgorithmFigures } from './replay.js';

/** Pictures by the names of their files, without the ending. */
export type Pictures = Record<string, string>;

/** What a replay shows. `subtitle` says what was replayed. */
export function algorithmCharts(figures: readonly AlgorithmFigures[], { limit }: Bound, subtitle: string): Pictures {
  const bars = (value: (one: AlgorithmFigures) => number, note?: (one: AlgorithmFigures) => string): Bar[] =>
    figures.map((one, look) => ({ name: one.title, value: value(one), look, ...(note && { note: note(one) }) }));
  const endMs = Math.max(1, figures[0]?.course.at(-1)?.atMs ?? 0);
  const courses = figures.map(({ title, course }, look) => ({
    name: title,
    lines: [{ look, points: course.map(({ atMs, admitted }) => [atMs / 1000, admitted] as const) }],
    reference: course.map(({ atMs, admittedByLog }) => [atMs / 1000, admittedByLog] as const),
    steps: true,
    mark: { y: limit, label: 'limit' },
    x: { label: 'seconds', domain: [0, endMs / 1000] as const },
    y: { label: 'admitted in the window before', domain: [0, limit * 2.1] as const },
  }));
  return {
    'admitted-over-time': smallMultiples(
      { title: 'Admitted over time, and what the perfect sliding log admits (grey)', subtitle },
      courses,
    ),
    'algorithms-compared': barCharts({ title: 'What the same bound means to each algorithm', subtitle }, [
      {
        name: 'Most admitted in any one window, of its limit',
        bars: bars(({ worstWindow }) => worstWindow / limit),
        mark: 1,
        format: (value) => `${value.toFixed(2)} ×`,
      },
      {
        name: 'Mean error of what it counts as used, of its limit',
        bars: bars(({ meanError }) => (100 * meanError) / limit),
        format: (value) => `${value.toFixed(1)} %`,
      },
      {
        name: 'Passed here, refused by the perfect log',
        bars: bars((one) => share(one.overAdmitted, one.offered)),
        format: (value) => `${value.toFixed(1)} %`,
      },
      {
        name: 'Refused here, passed by the perfect log',
        bars: bars((one) => share(one.underAdmitted, one.offered)),
        format: (value) => `${value.toFixed(1)} %`,
      },
      { name: 'Memory a key, at most, in bytes; by powers of ten', bars: bars(({ mostBytes }) => mostBytes), logFrom: 1 },
    ]),
  };
}

/** The only picture that a seed does not repeat: time measured on this machine. */
export function priceChart(figures: readonly AlgorithmFigures[], price: ReadonlyMap<string, number>, subtitle: string): Pictures {
  const bars = figures.map(({ algorithm, title }, look) => ({ name: title, value: price.get(algorithm) ?? 0, look }));
  return {
    'decision-cost': barCharts({ title: 'What a decision costs', subtitle }, [
      { name: 'Nanoseconds a decision, in this process', bars, format: (value) => `${short(value)} ns` },
    ]),
  };
}

const share = (part: number, whole: number): number => (100 * part) / Math.max(1, whole);
