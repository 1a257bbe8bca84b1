import { AdaptiveLimit } from './adaptive-limit.js';

const STEP_MS = 10;
const STEPS_OF_SECOND = 1000 / STEP_MS;

/** An upstream with workers that take turns: with more requests than workers each takes as much longer. Requests keep coming, as many as are wanted or permitted. */
class SimulatedUpstream {
  nowMs = 0;
  /** Per second, of the last one simulated. */
  latencyMs = 0;

  constructor(
    readonly limit: AdaptiveLimit,
    public workers: number,
    private readonly serviceMs: number,
  ) {}

  /** @param wanted requests at a time that clients would have under way */
  run(seconds: number, wanted: number): number {
    for (let step = 0; step < seconds * STEPS_OF_SECOND; step++) {
      const inFlight = Math.min(wanted, this.limit.limit);
      if (wanted > this.limit.limit) this.limit.turnedAway();
      this.latencyMs = this.serviceMs * Math.max(1, inFlight / this.workers);
      const answers = Math.max(1, Math.round((inFlight / this.latencyMs) * STEP_MS));
      for (let i = 0; i < answers; i++) this.limit.answered(this.latencyMs, inFlight);
      this.nowMs += STEP_MS;
      this.limit.tick(this.nowMs);
    }
    return this.limit.limit;
  }
}

const OPTIONS = { initial: 256, min: 10, max: 256 };
const upstreamOf = (workers: number) => new SimulatedUpstream(new AdaptiveLimit(OPTIONS), workers, 20);

test('while the upstream has room the limit stays at its most', () => {
  expect(upstreamOf(64).run(60, 32)).toBe(256);
});

test('an upstream that has too much to do gets less, so that its latency stays near what it was', () => {
  const upstream = upstreamOf(40);
  upstream.run(60, 20);
  const limit = upstream.run(60, 1000);
  // Unlimited, 256 at a time, each would take 128 ms.
  expect(limit).toBeGreaterThanOrEqual(40);
  expect(limit).toBeLessThan(100);
  expect(upstream.latencyMs).toBeLessThan(50);
});

test('it follows an upstream that loses most of its workers, and grows again when they are back', () => {
  const upstream = upstreamOf(100);
  upstream.run(60, 50);
  const before = upstream.run(60, 1000);
  upstream.workers = 20;
  const few = upstream.run(60, 1000);
  expect(few).toBeLessThan(before / 2);
  upstream.workers = 100;
  expect(upstream.run(60, 1000)).toBeGreaterThan(few * 2);
});

test('a minority of slow requests does not move it, a majority does', () => {
  const usual = (slowOneIn: number): number => {
    const limit = new AdaptiveLimit(OPTIONS);
    let nowMs = 0;
    for (let i = 0; i < 20_000; i++) {
      limit.answered(i > 2_000 && i % slowOneIn !== 0 ? 20 : i > 2_000 ? 5_000 : 20, 200);
      limit.tick((nowMs += 1));
    }
    return limit.limit;
  };
  expect(usual(3)).toBe(256);
  expect(usual(1)).toBeLessThan(256);
});

test('it does not grow while nobody needs it, unless somebody was turned away', () => {
  const limit = new AdaptiveLimit({ ...OPTIONS, initial: 100 });
  let nowMs = 0;
  const seconds = (inFlight: number, turnsAway: boolean): number => {
    for (let i = 0; i < 500; i++) {
      limit.answered(20, inFlight);
      if (turnsAway) limit.turnedAway();
      limit.tick((nowMs += 10));
    }
    return limit.limit;
  };
  expect(seconds(30, false)).toBe(100);
  expect(seconds(30, true)).toBeGreaterThan(100);
});

test('where more than a tenth fail the limit falls, and never below its least', () => {
  const limit = new AdaptiveLimit(OPTIONS);
  let nowMs = 0;
  const windows = (count: number, failsOneIn: number): number => {
    for (let i = 0; i < count * 25; i++) {
      if (i % failsOneIn === 0) limit.failed();
      else limit.answered(20, 200);
      limit.tick((nowMs += 10.5));
    }
    return limit.limit;
  };
  expect(windows(40, 25)).toBe(256);
  expect(windows(4, 5)).toBeLessThan(200);
  expect(windows(100, 1)).toBe(10);
});

test('few requests say nothing: what a quiet hour collects is thrown away', () => {
  const limit = new AdaptiveLimit(OPTIONS);
  for (let hour = 0; hour < 100; hour++) {
    limit.failed();
    limit.tick(hour * 3_600_000);
    limit.tick(hour * 3_600_000 + 20_000);
  }
  expect(limit.limit).toBe(256);
});
