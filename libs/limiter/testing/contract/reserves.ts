import * as fc from 'fast-check';
import type { BucketState } from '../../src/index.js';
import { anyLimitSpecs, arrivals, startedLimit } from '../arbitraries.js';
import { runs } from '../properties/runs.js';
import { bucketLeaving, bucketTake, burst, decisions, isAllowed, taken, takeAlone } from '../takes.js';
import type { CreateStore } from './store-under-test.js';

/** What a store does for requests that have to leave a share of a bucket to others. */
export function describeReserves(create: CreateStore): void {
  describe('a share that is kept for some requests', () => {
    const START_MS = 1_700_000_000_000;

    test('is left by all others, in whatever order they come together', async () => {
      const { store, clock } = await create();
      clock.nowMs = START_MS;
      // One that needs nothing but whole microseconds, and one with fractions, and one that was edited.
      const limits = [
        burst({ refillTokens: 1, refillIntervalMs: 60_000 }),
        burst({ refillTokens: 7, refillIntervalMs: 3_600_000 }),
        { ...burst({ refillTokens: 1, refillIntervalMs: 60_000 }), initialTokens: 10 },
      ].map((spec) => startedLimit(spec, START_MS));
      for (const [i, limit] of limits.entries()) {
        const ask = async (kept: boolean) => isAllowed(await taken(store, [bucketTake(`${i}`, limit, 1, kept ? 0 : 20)]));
        const order = 'oooo k oooo oo kk o kk k'.replaceAll(' ', '');
        const seen = await Promise.all([...order].map((who) => ask(who === 'k')));
        expect([i, seen.map((passed) => (passed ? 'p' : '-')).join('')]).toEqual([i, 'pppp p ppp- -- pp - -- -'.replaceAll(' ', '')]);
      }
    });

    test('for any algorithm, cost, share and time decides as the pure function does', async () => {
      const { store, clock } = await create();
      let run = 0;
      const counts = { passed: 0, refused: 0 };
      const cases = anyLimitSpecs().chain((spec) =>
        fc.tuple(
          fc.constant(spec),
          arrivals(spec, { maxLength: 12 }),
          fc.integer({ min: 1, max: 99 }),
          fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
        ),
      );
      await fc.assert(
        fc.asyncProperty(cases, async ([spec, requests, percent, kept]) => {
          const key = `reserve.${++run}`;
          const limit = startedLimit(spec, START_MS);
          let state: BucketState | undefined;
          let nowUs = START_MS * 1000;
          for (const [i, { gapUs, cost }] of requests.entries()) {
            nowUs += gapUs;
            clock.nowMs = nowUs / 1000;
            const share = kept[i] ? 0 : percent;
            const alone = takeAlone(bucketLeaving(limit, share), state, cost, clock.nowMs, { holder: i + 1 });
            state = alone.state;
            const answered = await taken(store, [bucketTake(key, limit, cost, share)], i + 1);
            expect(decisions(answered, answered.levels)).toEqual([alone.decision]);
            if (!kept[i]) counts[alone.decision.allowed ? 'passed' : 'refused']++;
          }
        }),
        runs(60),
      );
      expect(counts.passed).toBeGreaterThan(20);
      expect(counts.refused).toBeGreaterThan(20);
    });
  });
}
