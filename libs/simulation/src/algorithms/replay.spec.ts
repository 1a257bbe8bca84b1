import type { Bound } from '../bound.js';
import type { Arrival } from '../traffic/arrival.js';
import { PATTERN_NAMES, traffic, type PatternName } from '../traffic/patterns.js';
import { priceOf } from './price.js';
import { replay, type AlgorithmFigures } from './replay.js';
import { ALGORITHMS, boundFault, type AlgorithmChoice } from './specs.js';

const BOUND: Bound = { limit: 100, windowMs: 60_000 };

const arrivalsOf = (pattern: PatternName, seconds = 900): Arrival[] => [
  ...traffic(pattern, { seed: 1, seconds, ratePerSecond: 2.5, keys: ['a', 'b'], ...BOUND }),
];
const choice = (name: string): AlgorithmChoice => ALGORITHMS.find((one) => one.name === name)!;
const figuresAnew = (name: string, pattern: PatternName): AlgorithmFigures => replay(choice(name), arrivalsOf(pattern), BOUND);

/** A replay takes long, and is what several tests look at. */
const seen = new Map<string, AlgorithmFigures>();
function figures(name: string, pattern: PatternName): AlgorithmFigures {
  const key = `${name} ${pattern}`;
  const found = seen.get(key) ?? figuresAnew(name, pattern);
  seen.set(key, found);
  return found;
}

describe.each(ALGORITHMS.map(({ name }) => name))('%s', (name) => {
  it.each(PATTERN_NAMES)('has the same figures for the same %s traffic', (pattern) => {
    expect(figuresAnew(name, pattern)).toEqual(figures(name, pattern));
  });

  it.each(PATTERN_NAMES)('is compared with the perfect log, request by request: %s', (pattern) => {
    const { offered, admitted, admittedByLog, overAdmitted, underAdmitted } = figures(name, pattern);
    expect(offered).toBe(arrivalsOf(pattern).length);
    expect(admitted - admittedByLog).toBe(overAdmitted - underAdmitted);
  });

  it.each(PATTERN_NAMES)('never gives more than twice the limit in a window: %s', (pattern) => {
    expect(figures(name, pattern).worstWindow).toBeLessThanOrEqual(2 * BOUND.limit);
  });

  it('draws the first windows only', () => {
    const { course } = figures(name, 'bursty');
    expect([course[0]!.atMs, course.at(-1)!.atMs, course.length]).toEqual([0, 12 * BOUND.windowMs, 361]);
  });

  it('refuses nothing to a trickle', () => {
    const trickle = Array.from({ length: 50 }, (_, i) => ({ atMs: i * 1000, key: 'a', cost: 1 }));
    expect(replay(choice(name), trickle, BOUND)).toMatchObject({ admitted: 50, overAdmitted: 0, underAdmitted: 0, worstWindow: 50 });
  });
});

test('a token bucket gives a full bucket and a window of refills in one window', () => {
  const flood = Array.from({ length: 6001 }, (_, i) => ({ atMs: i * 10, key: 'a', cost: 1 }));
  expect(replay(choice('token_bucket'), flood, BOUND)).toMatchObject({ worstWindow: 199, admittedByLog: 101, mostBytes: 16 });
});

test('a replay without requests has no figures', () => {
  expect(replay(choice('token_bucket'), [], BOUND)).toMatchObject({ offered: 0, admitted: 0, meanError: 0, meanBytes: 0 });
});

test('the price of a decision is the quickest round by the clock that was given', () => {
  const clock = [0, 10, 10, 12, 20, 30, 30, 40, 40, 50, 50, 60, 60, 70].values();
  const price = priceOf([choice('token_bucket')], arrivalsOf('boundary', 70), BOUND, () => clock.next().value!);
  // 400 requests: 200 of each key.
  expect(price).toEqual(new Map([['token_bucket', 2e6 / 400]]));
});

test('a bound that an algorithm cannot have is named', () => {
  expect(boundFault(choice('token_bucket'), BOUND)).toBeUndefined();
  expect(boundFault(choice('sliding_log'), { limit: 1001, windowMs: 1000 })).toContain('limit must be');
});
