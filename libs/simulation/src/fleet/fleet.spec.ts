import { seededRandom } from '../random.js';
import { coresOf } from './fleet-costs.js';
import { runFleet, type FleetRun } from './fleet.js';
import { Zipf } from './zipf.js';

const run: FleetRun = {
  seed: 1,
  instances: 4,
  spread: 4,
  merchants: 20,
  exponent: 1,
  decisionsPerSecond: 8000,
  seconds: 1,
  horizonMs: 500,
  headroom: 2,
};

test('each exact decision is a take, and gathered takes are fewer calls', () => {
  const { decisions, withoutCall, takes, lends, calls, admitted } = runFleet(run, 'exact');
  expect({ decisions, withoutCall, takes, lends, admitted }).toEqual({
    decisions: 8000,
    withoutCall: 0,
    takes: 8000,
    lends: 0,
    admitted: 8000,
  });
  // Four instances make at most one call in each millisecond.
  expect(calls).toBeGreaterThan(1000);
  expect(calls).toBeLessThanOrEqual(4000);
});

test('leased decisions of busy merchants need few calls', () => {
  const { decisions, withoutCall, takes, lends, admitted } = runFleet(run, 'leased');
  expect(decisions).toBe(8000);
  // Answers of the last step are on their way.
  expect(Math.abs(withoutCall + takes - decisions)).toBeLessThan(40);
  expect(admitted).toBe(decisions);
  expect(takes + lends).toBeLessThan(0.2 * decisions);
});

test('merchants that are asked seldom at each instance are not leased', () => {
  const { decisions, takes, lends } = runFleet({ ...run, merchants: 5000, exponent: 0 }, 'leased');
  expect(takes).toBeGreaterThan(0.99 * decisions);
  expect(lends).toBeLessThan(0.01 * decisions);
});

test('leases admit no more than limits that are too low allow, and nearly as much as exact ones', () => {
  const scarce = { ...run, headroom: 0.4, seconds: 2 };
  const [exact, leased] = [runFleet(scarce, 'exact'), runFleet(scarce, 'leased')];
  expect(exact.admitted).toBeLessThan(exact.decisions);
  expect(leased.admitted).toBeLessThan(1.01 * exact.admitted);
  expect(leased.admitted).toBeGreaterThan(0.9 * exact.admitted);
});

test('the same seed gives the same figures', () => {
  expect(runFleet(run, 'leased')).toEqual(runFleet(run, 'leased'));
});

test('cores are what each costs times how often it is', () => {
  const figures = {
    consistency: 'leased',
    seconds: 2,
    decisions: 2000,
    admitted: 2000,
    withoutCall: 1600,
    takes: 400,
    lends: 100,
    calls: 10,
    refusedWhileLent: 0,
  } as const;
  const { redis, gateways } = coresOf(figures, { redisTakeUs: 2, redisLendUs: 8, takeUs: 3, leasedUs: 0.5 });
  expect(redis).toBeCloseTo((200 * 2 + 50 * 8) / 1e6);
  expect(gateways).toBeCloseTo((250 * 3 + 800 * 0.5) / 1e6);
});

test('the k-th of Zipf is asked 1 / k as often as the first', () => {
  const zipf = new Zipf(100, 1);
  expect(zipf.share(0) / zipf.share(9)).toBeCloseTo(10);
  const random = seededRandom(1, 'zipf');
  const asked = Array.from({ length: 20_000 }, () => zipf.next(random));
  const often = (index: number) => asked.filter((each) => each === index).length / asked.length;
  expect(Math.abs(often(0) - zipf.share(0))).toBeLessThan(0.01);
  expect(Math.abs(often(4) - zipf.share(4))).toBeLessThan(0.01);
  expect(asked.every((each) => each >= 0 && each < 100)).toBe(true);
});
