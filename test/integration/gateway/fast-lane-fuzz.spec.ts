import { FuzzBed } from '../../../fuzz/http1/bed.mjs';
import { lanesSubject } from '../../../fuzz/http1/lanes.mjs';
import { describeFailure, fuzz } from '../../../fuzz/shared/fuzz.mjs';
import { type RunningProxy, startProxy, stopAll } from './proxy-harness.js';

afterEach(stopAll);

/** More, and others, by hand: npm run fuzz -- --lanes --cases 1000000 --seed 7 */
const CASES = 1_000;
const SEED = 3;
/** Some of them wait for a time-out. */
const AT_ONCE = 8;

test('both lanes do the same, whatever a client writes', async () => {
  const fastOnes: RunningProxy[] = [];
  const open = (fastLane: boolean) =>
    FuzzBed.open(async (upstream, admit) => {
      const [trusting, notTrusting] = await Promise.all(
        [true, false].map((trusted) => startProxy(upstream, { admit, fastLane, trusts: () => trusted })),
      );
      if (fastLane) fastOnes.push(trusting!, notTrusting!);
      return { ports: [trusting!.port, notTrusting!.port], inFlight: () => trusting!.metrics.inFlight + notTrusting!.metrics.inFlight };
    });
  const openBoth = async () => ({ slow: await open(false), fast: await open(true) });
  const first = await openBoth();
  const more = await Promise.all(Array.from({ length: AT_ONCE - 1 }, openBoth));
  try {
    const { failures } = await fuzz([lanesSubject(first), ...more.map((beds) => lanesSubject(beds))], { seed: SEED, cases: CASES });
    expect(failures.map((each) => describeFailure(each))).toEqual([]);
    // Neither all of it left the fast lane, nor nothing.
    const sum = (of: 'fastRequests' | 'leftFastLane') => fastOnes.reduce((total, { metrics }) => total + metrics[of], 0);
    expect(Math.min(sum('fastRequests'), sum('leftFastLane'))).toBeGreaterThan(CASES / 10);
  } finally {
    for (const { slow, fast } of [first, ...more]) {
      slow.close();
      fast.close();
    }
  }
});
