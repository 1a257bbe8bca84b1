import type { LimitSpec } from '#limiter';
import type { Bound } from '../bound.js';
import type { Arrival } from '../traffic/arrival.js';
import { traffic, type PatternName } from '../traffic/patterns.js';
import { replay, type AlgorithmFigures } from './replay.js';
import { ALGORITHMS, type AlgorithmChoice } from './specs.js';

/** What docs/algorithms.md promises of each algorithm, and its worst case. */

const BOUND: Bound = { limit: 100, windowMs: 60_000 };

const choice = (name: string): AlgorithmChoice => ALGORITHMS.find((one) => one.name === name)!;
const load = { seed: 1, seconds: 1800, ratePerSecond: 2.5, keys: ['a'], ...BOUND };
const figures = (name: string, arrivals: readonly Arrival[], bound = BOUND): AlgorithmFigures => replay(choice(name), arrivals, bound);
const at = (atMs: number, count: number): Arrival[] => Array.from({ length: count }, () => ({ atMs, key: 'a', cost: 1 }));
const every = (gapMs: number, fromMs: number, untilMs: number): Arrival[] =>
  Array.from({ length: Math.ceil((untilMs - fromMs) / gapMs) }, (_, i) => ({ atMs: fromMs + i * gapMs, key: 'a', cost: 1 }));

describe('worst cases', () => {
  it('W2: a fixed window on the clock gives twice its limit around a boundary, and the boundary pattern finds it', () => {
    const { worstWindow, admitted, admittedByLog } = figures('fixed_window', [...traffic('boundary', load)]);
    expect({ worstWindow, share: admitted / admittedByLog }).toEqual({ worstWindow: 200, share: 2 });
  });

  it('W5: a window that the first request starts is not open to that, but to one request early and the rest late', () => {
    expect(figures('fixed_window_first_request', [...traffic('boundary', load)]).worstWindow).toBe(100);
    expect(figures('fixed_window_first_request', [...at(0, 1), ...at(59_999, 99), ...at(60_000, 100)]).worstWindow).toBe(199);
  });

  it('a sliding log never gives more than its limit, and decides as the perfect log does', () => {
    for (const pattern of ['bursty', 'boundary', 'poisson', 'constant', 'diurnal'] as const) {
      const { worstWindow, overAdmitted, underAdmitted, meanError } = figures('sliding_log', [...traffic(pattern, load)]);
      expect({ overAdmitted, underAdmitted, meanError }).toEqual({ overAdmitted: 0, underAdmitted: 0, meanError: 0 });
      expect(worstWindow).toBeLessThanOrEqual(100);
    }
  });

  it.each([1, 4, 60])('a sliding counter of %d parts is fooled by a burst at the end of a part, up to nearly twice its limit', (parts) => {
    const partMs = BOUND.windowMs / parts;
    // The counter takes the burst for spread over its part, and lets it go as that leaves; the log keeps it to the end.
    const { worstWindow } = figures(`sliding_counter_${parts}`, [
      ...at(partMs - 1, 100),
      ...every(partMs / 1000, BOUND.windowMs, BOUND.windowMs + partMs - 1),
    ]);
    expect(worstWindow).toBeGreaterThan(190);
    expect(worstWindow).toBeLessThanOrEqual(200);
  });

  it.each([2, 4, 60])('but in a window that is one part shorter it keeps its limit: %d parts', (parts) => {
    const partMs = BOUND.windowMs / parts;
    const spec = ({ limit }: Bound): LimitSpec => ({
      name: 'counter',
      algorithm: 'sliding_counter',
      limit,
      windowMs: BOUND.windowMs,
      parts,
    });
    const arrivals = [
      ...at(partMs - 1, 100),
      ...every(partMs / 1000, BOUND.windowMs, BOUND.windowMs + partMs - 1),
      ...every(50, 200_000, 600_000),
    ];
    expect(replay({ name: 'counter', title: '', spec }, arrivals, { limit: 100, windowMs: BOUND.windowMs - partMs }).worstWindow).toBe(100);
  });

  it.each(['token_bucket', 'gcra', 'leaky_bucket'])('%s gives capacity + rate * d: twice the limit in one window of a flood', (name) => {
    const flood = every(10, 0, 60_000);
    expect(figures(name, flood)).toMatchObject({ admitted: 199, worstWindow: 199 });
  });
});

test('K2: a queue passes evenly what it admits, whatever came', () => {
  const { course, admitted, worstWindow } = figures('leaky_bucket_queue', [...at(0, 200), ...at(120_000, 200)]);
  // Fifty wait half a minute at most, and one goes at once; then, two minutes later, again.
  expect({ admitted, worstWindow }).toEqual({ admitted: 102, worstWindow: 51 });
  const within = (fromMs: number, toMs: number) =>
    course.filter(({ atMs }) => atMs >= fromMs && atMs < toMs).map((point) => point.admitted);
  expect(within(0, 30_000)).toEqual([...within(0, 30_000)].sort((a, b) => a - b));
  expect(Math.max(...within(0, 3_000))).toBeLessThan(7);
});

test.each(['gcra', 'leaky_bucket'])('G3: %s decides as the token bucket does', (name) => {
  const arrivals = [...traffic('bursty', load)];
  const { algorithm: _name, title: _title, ...seen } = figures(name, arrivals);
  expect(figures('token_bucket', arrivals)).toMatchObject(seen);
});

describe('memory', () => {
  it('of a log grows with what it admitted; of all others it stays as it is', () => {
    const arrivals = [...traffic('bursty', load)];
    const bytes = Object.fromEntries(ALGORITHMS.map(({ name }) => [name, figures(name, arrivals).mostBytes]));
    expect(bytes['sliding_log']).toBe(100 * 16 + 8);
    for (const [name, most] of Object.entries(bytes)) {
      if (name !== 'sliding_log') expect(most).toBeLessThan(500);
    }
  });
});

describe('S6: the mean error against the perfect log falls as parts rise', () => {
  /** Fixed window, then 2 x 60 s, 3 x 30 s, 5 x 15 s, 61 x 1 s: one more counter than the window has parts. */
  const specs: LimitSpec[] = [
    { name: 'fixed', algorithm: 'fixed_window', limit: 1_000_000, windowMs: 60_000, start: 'clock' },
    ...[1, 2, 4, 60].map((parts): LimitSpec => ({
      name: `parts ${parts}`,
      algorithm: 'sliding_counter',
      limit: 1_000_000,
      windowMs: 60_000,
      parts,
    })),
  ];

  // Constant means a constant rate here: at exactly equal distances every counter is right, but for the rounding of one request.
  it.each<[string, PatternName]>([
    ['bursty', 'bursty'],
    ['constant', 'poisson'],
  ])('on %s traffic', (_title, pattern) => {
    for (const seed of [1, 2, 3]) {
      const arrivals = [...traffic(pattern, { ...load, seed, seconds: 3600, ratePerSecond: 10 })];
      // A limit that refuses nothing: what is compared is how they count.
      const errors = specs.map(
        (spec) => replay({ name: spec.name, title: '', spec: () => spec }, arrivals, { limit: 1_000_000, windowMs: 60_000 }).meanError,
      );
      expect(errors).toEqual([...errors].sort((a, b) => b - a));
      expect(new Set(errors).size).toBe(errors.length);
    }
  });
});
