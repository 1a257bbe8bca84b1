import { PATTERN_NAMES, traffic, type Load, type PatternName } from './patterns.js';

const load = (numbers: Partial<Load> = {}): Load => ({
  seed: 1,
  seconds: 600,
  ratePerSecond: 5,
  keys: ['a', 'b'],
  limit: 100,
  windowMs: 10_000,
  ...numbers,
});
const arrivals = (pattern: PatternName, numbers: Partial<Load> = {}) => [...traffic(pattern, load(numbers))];

describe.each(PATTERN_NAMES)('the pattern %s', (pattern) => {
  it('is the same for the same seed', () => {
    expect(arrivals(pattern)).toEqual(arrivals(pattern));
  });

  it('comes in the order of time, within the run, in whole microseconds', () => {
    const times = arrivals(pattern).map(({ atMs }) => atMs);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times.filter((atMs) => atMs !== Math.round(atMs * 1000) / 1000)).toEqual([]);
    expect(times.at(-1)).toBeLessThanOrEqual(600_000);
  });

  it('gives a key the same arrivals, whoever else there is', () => {
    expect(arrivals(pattern).filter(({ key }) => key === 'b')).toEqual(arrivals(pattern, { keys: ['b'] }));
  });
});

test.each(['constant', 'poisson', 'bursty', 'diurnal'] as const)('%s makes the load that was asked for, on average', (pattern) => {
  const perKeyAndSecond = arrivals(pattern, { seconds: 20_000 }).length / 2 / 20_000;
  expect(Math.abs(perKeyAndSecond - 5)).toBeLessThan(0.4);
});

test.each(['poisson', 'bursty', 'diurnal'] as const)('%s differs with the seed', (pattern) => {
  expect(arrivals(pattern, { seed: 2 })).not.toEqual(arrivals(pattern));
});

test('constant keeps its distance', () => {
  expect(arrivals('constant', { seconds: 1, keys: ['a'] }).map(({ atMs }) => atMs)).toEqual([0, 200, 400, 600, 800]);
});

test('bursty has all its load in about a fifth of the time', () => {
  const busySeconds = new Set(arrivals('bursty', { keys: ['a'], seconds: 10_000 }).map(({ atMs }) => Math.floor(atMs / 1000)));
  expect(busySeconds.size).toBeLessThan(4500);
});

test('diurnal has a night and a noon', () => {
  const hours = Array.from({ length: 24 }, () => 0);
  for (const { atMs } of arrivals('diurnal')) hours[Math.floor((atMs / 300_000) * 24) % 24]!++;
  expect(hours[0]! + hours[23]!).toBeLessThan((hours[11]! + hours[12]!) / 10);
});

test('boundary sends a whole limit on either side of an edge', () => {
  const first = arrivals('boundary', { keys: ['a'], limit: 3, seconds: 15 });
  expect(first.map(({ atMs }) => atMs)).toEqual([9990, 9990, 9990, 10_000, 10_000, 10_000]);
});
