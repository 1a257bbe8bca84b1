import * as fc from 'fast-check';
import { bucketOf, type BucketReading, type Limit, type LimitSpec } from '../../src/index.js';
import { anyLimitSpecs, arrivals, limitSpecs, startedLimit, type Arrival } from '../arbitraries.js';
import type { CreateStore, OperableStore } from '../contract/store-under-test.js';
import { bucketTake, isAllowed, taken } from '../takes.js';
import { runs } from './runs.js';

/** What adding and taking tokens by hand may do, over random limits and arrivals. */
export function describeAdjustments(create: CreateStore): void {
  const adjust = (store: OperableStore, key: string, limit: Limit, tokens: number): Promise<BucketReading> =>
    store.operate(key, bucketOf(limit), { kind: 'adjust', tokens });
  const read = (store: OperableStore, key: string, limit: Limit): Promise<BucketReading> =>
    store.operate(key, bucketOf(limit), { kind: 'read' });

  test('law 1 with operators: what passed and what they took <= capacity + rate * d + what they added', async () => {
    const { store, clock } = await create();
    let run = 0;
    let added = 0;
    let passed = 0;
    await fc.assert(
      fc.asyncProperty(
        cases(limitSpecs().filter(({ initialTokens, refillIntervalMs }) => initialTokens === undefined && refillIntervalMs !== undefined)),
        async ([spec, events]) => {
          const key = `law1.${++run}`;
          clock.nowMs = START_MS;
          const limit = startedLimit(spec, START_MS);
          const seen: { atUs: number; tokens: number }[] = [];
          let nowUs = START_MS * 1000;
          for (const { gapUs, cost, tokens } of events) {
            nowUs += gapUs;
            clock.nowMs = nowUs / 1000;
            if (tokens !== 0) {
              const { remaining } = await read(store, key, limit);
              await adjust(store, key, limit, tokens);
              // Never more than it was asked for, and than there was room for or tokens were left.
              const moved = tokens > 0 ? Math.min(tokens, spec.capacity - remaining) : -Math.min(-tokens, remaining);
              if (moved > 0) added++;
              seen.push({ atUs: nowUs, tokens: -moved });
            } else if (isAllowed(await taken(store, [bucketTake(key, limit, cost)]))) {
              if (cost > 0) passed++;
              seen.push({ atUs: nowUs, tokens: cost });
            }
          }
          const intervalUs = BigInt(spec.refillIntervalMs!) * 1000n;
          seen.forEach((first, i) => {
            let sum = 0n;
            for (const { atUs, tokens } of seen.slice(i)) {
              sum += BigInt(tokens);
              const steps = BigInt(atUs - first.atUs) + (spec.refill === 'interval' ? intervalUs : 0n);
              expect(sum * intervalUs <= BigInt(spec.capacity) * intervalUs + BigInt(spec.refillTokens) * steps).toBe(true);
            }
          });
        },
      ),
      runs(200),
    );
    expect(added).toBeGreaterThan(50);
    expect(passed).toBeGreaterThan(200);
  });

  test('adjusting moves what remains by exactly so much, within empty and full, and taking the same away again leaves the bucket as it was', async () => {
    const { store, clock } = await create();
    let run = 0;
    let moves = 0;
    // Of a soft limit a reading shows nothing of what is above it; of a queue, nothing while it is too long.
    const specs = anyLimitSpecs().filter((spec) => spec.algorithm !== 'concurrency' && spec.throttle !== 'soft' && !('onLimit' in spec));
    await fc.assert(
      fc.asyncProperty(cases(specs), async ([spec, events]) => {
        const key = `exact.${++run}`;
        clock.nowMs = START_MS;
        const limit = startedLimit(spec, START_MS);
        let nowUs = START_MS * 1000;
        for (const { gapUs, cost, tokens } of events) {
          nowUs += gapUs;
          clock.nowMs = nowUs / 1000;
          await taken(store, [bucketTake(key, limit, cost)]);
          if (tokens === 0) continue;
          const before = await read(store, key, limit);
          const levels = async () => (await taken(store, [bucketTake(key, limit, 0)])).levels;
          const found = await levels();
          const after = await adjust(store, key, limit, tokens);
          const moved = before.remaining + tokens;
          const expected = tokens < 0 ? Math.max(0, moved) : Math.max(before.remaining, Math.min(before.limit, moved));
          expect(after.remaining).toBe(expected);
          if (tokens < 0 && moved >= 0) {
            moves++;
            // What was taken now is what is given back first.
            await adjust(store, key, limit, -tokens);
            if (before.remaining <= before.limit) expect(await levels()).toEqual(found);
          }
        }
      }),
      runs(200),
    );
    expect(moves).toBeGreaterThan(50);
  });
}

const START_MS = 1_763_000_000_123;

/** A take, or an adjustment where `tokens` is not 0. */
interface Event extends Arrival {
  readonly tokens: number;
}

function cases<Spec extends LimitSpec>(specs: fc.Arbitrary<Spec>): fc.Arbitrary<[Spec, Event[]]> {
  const tokens = fc.oneof(
    { weight: 2, arbitrary: fc.constant(0) },
    { weight: 2, arbitrary: fc.integer({ min: -20, max: 20 }) },
    { weight: 1, arbitrary: fc.integer({ min: -1e9, max: 1e9 }) },
  );
  return specs.chain((spec) =>
    fc.tuple(
      fc.constant(spec),
      arrivals(spec, { maxLength: 20 }).chain((each) =>
        fc.tuple(...each.map((arrival) => tokens.map((by) => ({ ...arrival, tokens: by })))),
      ),
    ),
  );
}
