import * as fc from 'fast-check';
import {
  bucketOf,
  canBeLent,
  editLimits,
  MemoryBucketStore,
  MOST_LEASE_US,
  StoreUnavailableError,
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
  burst,
  describeLeaseTraces,
  describeLender,
  FakeClock,
  isAllowed,
  lentBy,
  runs,
  startedLimit,
  taken,
  takeFrom,
} from '#limiter/testing';
import { loadScripts, RedisBucketStore } from '#limiter-redis';
import { SLOWNESS } from '../../support/patience.mjs';
import { redisForFile } from '../../support/redis-for-file.js';
import { until } from '../../support/until.js';

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

describe('leases in Redis', () => {
  const slow = startedLimit(burst({ refillTokens: 1, refillIntervalMs: 3_600_000 }), 0);
  const NOW_MS = 1_700_000_000_000;
  const started = async () => {
    const under = await create();
    under.clock.nowMs = NOW_MS;
    return under;
  };
  const left = async (store: RedisBucketStore, limit = slow) => (await takeFrom(store, [{ key: 'k', limit, cost: 0 }]))[0]!.remaining;

  test('a bucket that was never lent is one integer, and is again when its leases are over', async () => {
    const { store, clock } = await started();
    await takeFrom(store, [{ key: 'k', limit: slow }]);
    expect(await redis.object('ENCODING', 'tg:k')).toBe('int');
    await lentBy(store, { limit: slow, sequence: 3, wants: 4, forUs: 1_000_000 });
    expect(await redis.get('tg:k')).toBe(
      `B0,${'1'.padStart(16, '0')}${'3600000000'.padStart(16, '0')}${'1'.padStart(10, '0')}${'3'.padStart(16, '0')}${'4'.padStart(10, '0')}1700000001000001;1700018000000000`,
    );
    clock.advance(1000.001);
    await takeFrom(store, [{ key: 'k', limit: slow }]);
    expect(await redis.object('ENCODING', 'tg:k')).toBe('int');
    expect(await redis.get('tg:k')).toBe('1700021600000000');
  });

  test('a word that changes nothing writes nothing', async () => {
    const { store } = await started();
    expect(await lentBy(store, { limit: slow })).toMatchObject({ granted: 0, forUs: 0 });
    expect(await redis.keys('*')).toEqual([]);
  });

  test('law 3: a bucket lives until its leases are over, however soon it would be full', async () => {
    const fast = startedLimit(burst({ refillTokens: 1000, refillIntervalMs: 1 }), 0);
    const { store, clock } = await started();
    // A tenth of a second before the end of the epoch up to which buckets live, and half a minute more.
    clock.nowMs = NOW_MS - (NOW_MS % 64_000) + 63_900;
    await takeFrom(store, [{ key: 'k', limit: fast }]);
    expect(await redis.pttl('tg:k')).toBeLessThan(40_000);
    for (const lessee of [1, 2]) {
      expect(await lentBy(store, { limit: fast, lessee, wants: 1, forUs: lessee === 1 ? MOST_LEASE_US : 1000 })).toMatchObject({
        granted: 1,
      });
      expect(await redis.pttl('tg:k')).toBeGreaterThan(90_000);
      await redis.pexpire('tg:k', 60_000);
      await takeFrom(store, [{ key: 'k', limit: fast }]);
      expect(await redis.pttl('tg:k')).toBeGreaterThan(90_000);
    }
  });

  const TEXT = `B0,${'1'.padStart(16, '0')}${'3600000000'.padStart(16, '0')}`;
  const lease = (lessee: number, lent: number, endUs: number | string) =>
    `${String(lessee).padStart(10, '0')}${'1'.padStart(16, '0')}${String(lent).padStart(10, '0')}${String(endUs).padStart(16, '0')}`;
  const END_US = NOW_MS * 1000 + 5_000_000;
  const odd: [what: string, text: string, remaining: number][] = [
    ['nothing behind the leases', `${TEXT}${lease(1, 4, END_US)};`, 6],
    ['no bucket behind them', `${TEXT}${lease(1, 4, END_US)};no bucket`, 6],
    ['a text that was cut', `${TEXT}${lease(1, 4, END_US)}`.slice(0, -1), 10],
    ['a lease that was cut', `${TEXT}${lease(1, 4, END_US).slice(1)};1`, 10],
    ['no leases', `${TEXT};1`, 10],
    ['not even a rate', 'B0,;1', 10],
    ['a negative number', `${TEXT}${lease(1, 4, END_US).replace('0000000004', '-000000004')};1`, 10],
    ['a lease of nothing', `${TEXT}${lease(1, 0, END_US)};1`, 10],
    ['more than the bucket holds', `${TEXT}${lease(1, 9_999_999_999, END_US)};1`, 0],
    ['an end in a hundred years', `${TEXT}${lease(1, 4, '9999999999999999')};1`, 6],
    ['leases that are over', `${TEXT}${lease(1, 4, 1)}${lease(2, 1, 2)};1`, 10],
    ['a lessee twice, in another order', `${TEXT}${lease(1, 2, END_US)}${lease(1, 1, END_US - 1)};1`, 7],
    ['a thousand leases', `${TEXT}${Array.from({ length: 1000 }, (_, i) => lease(i + 1, 1, END_US)).join('')};1`, 0],
    ['a rate of nothing', `B0,${'0'.repeat(32)}${lease(1, 4, END_US)};1`, 6],
    ['an absurd rate', `B0,${'1'.padStart(16, '0')}${'9'.repeat(16)}${lease(1, 4, END_US)};1`, 0],
    ['leases twice', `${TEXT}${lease(1, 4, END_US)};${TEXT}${lease(1, 4, END_US)};1`, 6],
    ['a format of later', `${TEXT}${lease(1, 4, END_US)}0;1`, 10],
  ];
  test.each(odd)('whatever stands at a key can be taken and lent from: %s', async (_what, text, remaining) => {
    const { store } = await started();
    await redis.set('tg:k', text);
    expect(await left(store)).toBe(remaining);
    const { granted } = await lentBy(store, { limit: slow, lessee: 77, sequence: 2, wants: 1 });
    expect(granted).toBeLessThanOrEqual(Math.min(1, remaining));
    await redis.set('tg:k', text);
    await store.operate('k', bucketOf(slow), { kind: 'reset' });
    expect(await left(store)).toBeLessThanOrEqual(10);
    await redis.set('tg:k', text);
    store.refund(await taken(store, [bucketTake('k', slow, 1)]));
    await new Promise((resolve) => setImmediate(resolve));
    expect(await left(store)).toBeLessThanOrEqual(remaining);
  });

  test('a full Redis lends nothing, and says so', async () => {
    const { store } = await started();
    await lentBy(store, { limit: slow, wants: 1 });
    const before = await redis.get('tg:k');
    await redis.config('SET', 'maxmemory', '1');
    try {
      await expect(lentBy(store, { limit: slow, sequence: 2, holds: 1, wants: 3 })).rejects.toBeInstanceOf(StoreUnavailableError);
      expect(await redis.get('tg:k')).toBe(before);
      // From now on it is not asked.
      expect(store.available).toBe(false);
      await expect(lentBy(store, { limit: slow, sequence: 3 })).rejects.toThrow('Redis is not answering');
    } finally {
      await redis.config('SET', 'maxmemory', '0');
    }
    await until(() => store.available);
    expect(await lentBy(store, { limit: slow, sequence: 4, holds: 1, wants: 3 })).toMatchObject({ granted: 3 });
  });

  test('a word without an answer in time fails, and may have been carried out', async () => {
    const { clock } = await started();
    const store = new RedisBucketStore(redis, { clock: clock.now, deadlineMs: 50 * SLOWNESS });
    stores.push(store);
    await lentBy(store, { limit: slow, wants: 3 });
    const pausing = redis.duplicate();
    try {
      await until(() => pausing.status === 'ready');
      await pausing.call('CLIENT', 'PAUSE', String(300 * SLOWNESS), 'ALL');
      await expect(lentBy(store, { limit: slow, sequence: 2, holds: 3, wants: 2 })).rejects.toThrow('no answer within');
    } finally {
      pausing.disconnect();
    }
    await until(() => store.available);
    // It was: the two that it has not heard of count as spent.
    await until(async () => (await left(store)) === 5);
    expect(await lentBy(store, { limit: slow, sequence: 3, holds: 3, wants: 1 })).toMatchObject({ granted: 1 });
    expect(await left(store)).toBe(4);
  });

  test('words of one turn travel in one call, in their order', async () => {
    const { clock } = await started();
    const calls: number[] = [];
    const store = new RedisBucketStore(redis, { clock: clock.now, deadlineMs: 5000, onLendCall: (_tookMs, words) => calls.push(words) });
    stores.push(store);
    const answers = await Promise.all([
      lentBy(store, { limit: slow, wants: 3 }),
      lentBy(store, { limit: slow, lessee: 2, wants: 3 }),
      lentBy(store, { limit: slow, key: 'other', wants: 5 }),
      lentBy(store, { limit: slow, sequence: 2, holds: 0, givesBack: 3 }),
    ]);
    expect(answers.map(({ granted, lentElsewhere }) => [granted, lentElsewhere])).toEqual([
      [3, 0],
      [2, 3],
      [5, 0],
      [0, 2],
    ]);
    expect(calls).toEqual([4]);
    expect(await left(store)).toBe(8);
  });

  test('a script of before leases reads the state behind them', async () => {
    // What without_block of the version before did to a text: it ends a block that is over, and goes on behind it.
    const { store } = await started();
    await takeFrom(store, [{ key: 'k', limit: slow, cost: 3 }]);
    const before = await redis.get('tg:k');
    await lentBy(store, { limit: slow, lessee: 4_294_967_295, sequence: Number.MAX_SAFE_INTEGER, wants: 2 });
    const [, until, length, state] = /^B(\d+),(\d+);(.*)$/.exec((await redis.get('tg:k'))!)!;
    expect(Math.min(Number(until), NOW_MS * 1000 + Number(length))).toBe(0);
    expect(Number(state) - Number(before)).toBe(2 * 3_600_000_000);
  });
});
