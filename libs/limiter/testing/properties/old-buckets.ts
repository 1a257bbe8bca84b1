import * as fc from 'fast-check';
import { bucketOf, editLimits, limitFaults, type LimitSpec } from '../../src/index.js';
import { anyLimitSpecs, startedLimit } from '../arbitraries.js';
import type { CreateEngine } from '../engine.js';
import { KeptForEver } from '../kept-for-ever.js';
import { runs } from './runs.js';

/**
 * What a merchant may do who comes seldom, while administrators edit its limit: the same as with a store that keeps every bucket for
 * ever and carries it over at the moment of each edit.
 *
 * @param preload what the preloader does to the bucket of the engine that was created last
 */
export function describeOldBuckets(createEngine: CreateEngine, usualRuns: number, preload: () => Promise<void> | void = () => {}): void {
  test('a bucket of any age, under any row of edits, is what one would be that was kept for ever', async () => {
    let edits = 0;
    let refusals = 0;
    await fc.assert(
      fc.asyncProperty(cases, async ([spec, events]) => {
        const engine = await createEngine();
        let limit = startedLimit(spec, START_MS);
        const kept = new KeptForEver(bucketOf(limit));
        let nowMs = START_MS;
        for (const event of events) {
          nowMs += event.idleMs;
          if ('edit' in event) {
            const [next] = editLimits([limit], [event.edit], nowMs);
            if (next!.generation !== limit.generation) {
              kept.edit(bucketOf(next!), nowMs * 1000);
              edits++;
            }
            limit = next!;
          } else if ('preload' in event) {
            await preload();
          } else {
            const expected = kept.take(event.cost, nowMs * 1000);
            expect(await engine(limit, event.cost, nowMs * 1000)).toEqual(expected);
            if (!expected.allowed) refusals++;
          }
        }
      }),
      { ...runs(usualRuns), examples: FOUND.map((found) => [found] as const) as never },
    );
    expect(edits).toBeGreaterThan(usualRuns / 2);
    expect(refusals).toBeGreaterThan(usualRuns / 10);
  });
}

type Event = { readonly idleMs: number } & ({ readonly edit: LimitSpec } | { readonly cost: number } | { readonly preload: true });

const START_MS = 1_763_000_000_000;
const MINUTE_MS = 60_000;
const YEAR_MS = 365 * 86_400_000;

/** Slots are held by requests, and are no tokens that an edit could carry over. */
const specs = anyLimitSpecs().filter((spec) => spec.algorithm !== 'concurrency');

const idleMs = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: MINUTE_MS }),
  fc.integer({ min: 0, max: 30 * MINUTE_MS }),
  fc.integer({ min: 0, max: YEAR_MS }),
);

const cases: fc.Arbitrary<[LimitSpec, Event[]]> = specs.chain((spec) => {
  const events: fc.Arbitrary<Event>[] = [
    fc.record({ idleMs, edit: specs }),
    // The same limit with other numbers, as an administrator writes it, who raises a limit by one.
    fc.record({ idleMs, more: fc.integer({ min: 1, max: 3 }) }).map((event) => ({ idleMs: event.idleMs, edit: raised(spec, event.more) })),
    fc.record({ idleMs, cost: fc.constantFrom(0, 1, 1, 2, 5, 20, 1000) }),
    fc.record({ idleMs, preload: fc.constant(true as const) }),
  ];
  return fc.tuple(fc.constant(spec), fc.array(fc.oneof(...events), { minLength: 1, maxLength: 20 }));
});

function raised(spec: LimitSpec, by: number): LimitSpec {
  const more = 'capacity' in spec ? { ...spec, capacity: spec.capacity + by } : { ...spec, limit: spec.limit + by };
  return limitFaults(more).length === 0 ? more : spec;
}

/** Failures that random runs have found. */
const FOUND: [LimitSpec, Event[]][] = [];
