import * as fc from 'fast-check';
import {
  bucketOf,
  canBeLent,
  editLimits,
  MemoryBucketStore,
  MOST_LEASE_US,
  type BucketLender,
  type BucketOperation,
  type LendOutcome,
  type LendRequest,
  type Limit,
  type LimitSpec,
  type Receipt,
} from '#limiter';
import {
  anyLimitSpecs,
  arrivals,
  bucketTake,
  describeLeaseTraces,
  describeLender,
  FakeClock,
  isAllowed,
  runs,
  startedLimit,
  taken,
} from '#limiter/testing';
import { loadScripts, RedisBucketStore } from '#limiter-redis';
import { redisForFile } from '../../support/redis-for-file.js';

const { redis } = await redisForFile();

const stores: RedisBucketStore[] = [];

beforeAll(async () => {
  // A call that has to be sent again, because Redis does not know the script, is overtaken by the next one.
  await loadScripts(redis);
});

afterEach(() => stores.splice(0).forEach((store) => store.close()));

async function create() {
  await redis.flushall();
  const clock = new FakeClock();
  const store = new RedisBucketStore(redis, { clock: clock.now, deadlineMs: 5000 });
  stores.push(store);
  return { store, clock };
}

describeLender('RedisBucketStore', create);
describeLeaseTraces(create);

/** What a store says to a word, with when it says so; an error by its message. */
const said = (store: BucketLender, request: LendRequest): Promise<unknown> =>
  new Promise((resolve) =>
    store.lend(request, (outcome: LendOutcome, atUs) => resolve(outcome instanceof Error ? outcome.message : { ...outcome, atUs })),
  );

type Step = { readonly gapUs: number; readonly cost: number } & (
  | { readonly word: Omit<LendRequest, 'key' | 'bucket' | 'sequence'> & { readonly late: boolean } }
  | { readonly refund: number }
  | { readonly operation: BucketOperation }
  | { readonly edit: LimitSpec }
);

const START_MS = 1_763_000_000_000;

/** Kinds that can be lent more often than others. */
const lendable = anyLimitSpecs().filter((spec) => canBeLent(bucketOf(startedLimit(spec, START_MS))));
const specs = fc.oneof({ weight: 4, arbitrary: lendable }, { weight: 1, arbitrary: anyLimitSpecs() });

const tokens = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 1e9 }));
const word = fc.record({
  lessee: fc.integer({ min: 1, max: 4 }),
  holds: tokens,
  givesBack: tokens,
  overspent: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: tokens }),
  wants: fc.oneof(fc.integer({ min: 1, max: 20 }), tokens),
  forUs: fc.oneof(fc.integer({ min: 1, max: 3_000_000 }), fc.constantFrom(1, 1000, MOST_LEASE_US)),
  late: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});
const operation: fc.Arbitrary<BucketOperation> = fc.oneof(
  fc.constantFrom({ kind: 'read' }, { kind: 'reset' }, { kind: 'unblock' }),
  fc.record({ kind: fc.constant('adjust' as const), tokens: fc.constantFrom(-1e9, -3, -1, 1, 5, 1e9) }),
  fc.record({ kind: fc.constant('block' as const), forMs: fc.integer({ min: 1, max: 3000 }) }),
);

const stepsOf = (spec: LimitSpec): fc.Arbitrary<Step[]> =>
  arrivals(spec, { maxLength: 30, stepsBack: true }).chain((each) =>
    fc.tuple(
      ...each.map((arrival) =>
        fc
          .tuple(
            // Leases last seconds, whatever the pace of the limit is.
            fc.oneof(
              { weight: 3, arbitrary: fc.constant(arrival.gapUs) },
              { weight: 1, arbitrary: fc.integer({ min: 0, max: 4_000_000 }) },
            ),
            fc.oneof(
              { weight: 6, arbitrary: fc.record({ word }) },
              { weight: 1, arbitrary: fc.record({ refund: fc.nat({ max: 5 }) }) },
              { weight: 1, arbitrary: fc.record({ operation }) },
              { weight: 1, arbitrary: fc.record({ edit: specs }) },
            ),
          )
          .map(([gapUs, what]) => ({ gapUs, cost: arrival.cost, ...what })),
      ),
    ),
  );

test('Lua and TypeScript agree in every field, over random leases, takes, refunds, operations, edits and clock steps', async () => {
  const { store, clock } = await create();
  let run = 0;
  const counts: Record<string, number> = {};
  const count = (what: string, times = 1): void => void (counts[what] = (counts[what] ?? 0) + times);
  await fc.assert(
    fc.asyncProperty(
      specs.chain((spec) => fc.tuple(fc.constant(spec), stepsOf(spec))),
      async ([spec, steps]) => {
        const key = `leased.${++run}`;
        const memory = new MemoryBucketStore(clock.now);
        let limit: Limit = startedLimit(spec, START_MS);
        let nowUs = START_MS * 1000;
        let sequence = 1;
        const receipts: { redis: Receipt; memory: Receipt }[] = [];
        for (const [i, step] of steps.entries()) {
          nowUs += step.gapUs;
          clock.nowMs = nowUs / 1000;
          const bucket = bucketOf(limit);
          if ('word' in step) {
            if (!canBeLent(bucket)) continue;
            const { late, ...numbers } = step.word;
            const request = { ...numbers, key, bucket, sequence: late ? Math.max(1, sequence - 3) : ++sequence };
            const [inRedis, inMemory] = [await said(store, request), await said(memory, request)];
            expect(inRedis).toEqual(inMemory);
            const { granted, charged, forUs, lentElsewhere } = inMemory as Record<string, number>;
            if (granted! > 0) count('granted');
            if (granted! < step.word.wants) count('granted less than wanted');
            if (charged! > 0) count('charged');
            if (forUs! > 0 && forUs! < step.word.forUs) count('ended early');
            if (lentElsewhere! > 0) count('lent elsewhere');
          } else if ('operation' in step) {
            const does = (each: typeof store | typeof memory) =>
              each.operate(key, bucket, step.operation).catch((error: Error) => error.message);
            expect(await does(store)).toEqual(await does(memory));
            count('operated');
          } else if ('edit' in step) {
            const [next] = editLimits([limit], [step.edit], Math.floor(nowUs / 1000));
            if (next!.generation !== limit.generation) count('edited');
            limit = next!;
          } else if (step.refund < receipts.length) {
            const [refunded] = receipts.splice(step.refund, 1);
            store.refund(refunded!.redis);
            memory.refund(refunded!.memory);
            // Before its clock moves on: what is given back waits for the end of the turn.
            await new Promise((resolve) => setImmediate(resolve));
            count('refunded');
          }
          const takes = [bucketTake(key, limit, step.cost)];
          const receipt = { redis: await taken(store, takes, i + 1), memory: await taken(memory, takes, i + 1) };
          expect(receipt.redis).toEqual(receipt.memory);
          if (isAllowed(receipt.memory)) receipts.push(receipt);
        }
      },
    ),
    runs(400),
  );
  const seen = ['granted', 'granted less than wanted', 'charged', 'ended early', 'lent elsewhere', 'operated', 'edited', 'refunded'];
  expect({ counts, missing: seen.filter((what) => !(counts[what]! > 20)) }).toEqual({ counts, missing: [] });
});
