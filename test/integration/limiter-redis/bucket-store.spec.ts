import { jest } from '@jest/globals';
import * as fc from 'fast-check';
import {
  bucketOf,
  decide,
  editLimits,
  isBlocked,
  MemoryBucketStore,
  StoreUnavailableError,
  type BucketOperation,
  type BucketOperator,
  type BucketReading,
  type BucketTake,
  type Receipt,
} from '#limiter';
import {
  anyLimitSpecs,
  arrivals,
  bucketTake,
  describeBucketStore,
  describeClockSteps,
  describeGolden,
  describeLooks,
  describeOldBuckets,
  describeOverrides,
  FakeClock,
  isAllowed,
  penaltyTake,
  startedLimit,
  storeEngine,
  taken,
  takeFrom,
} from '#limiter/testing';
import type { Redis } from 'ioredis';
import { createRedis, loadScripts, RedisBucketStore } from '#limiter-redis';
import { redisForFile } from '../../support/redis-for-file.js';

const { server, redis } = await redisForFile();

const stores: RedisBucketStore[] = [];

beforeAll(async () => {
  // A call that has to be sent again, because Redis does not know the script, is overtaken by the next one.
  await loadScripts(redis);
});

afterEach(() => stores.splice(0).forEach((store) => store.close()));

async function create() {
  await redis.flushall();
  return createStore();
}

function createStore() {
  const clock = new FakeClock();
  const store = new RedisBucketStore(redis, { clock: clock.now, deadlineMs: 5000 });
  stores.push(store);
  return { store, clock };
}

describeBucketStore('RedisBucketStore', create);
describeLooks(create);

describe('a bucket in Redis', () => {
  const clock = new FakeClock();
  let store: RedisBucketStore;
  beforeAll(() => void (store = new RedisBucketStore(redis, { clock: clock.now, deadlineMs: 5000 })));
  afterAll(() => store.close());
  let buckets = 0;
  const createEngine = () => storeEngine(store, clock, `engine.${++buckets}`)();
  describeClockSteps(createEngine, 300);
  describeOverrides(createEngine, 100);
  describeOldBuckets(createEngine, 300, async () => void (await redis.set(`tg:engine.${buckets}.1`, '-', 'PX', 3_600_000, 'NX')));
});

describeGolden(async () => {
  const { store, clock } = await create();
  return async (limit, cost, atMs, spare, percent) => {
    clock.nowMs = atMs;
    return (await takeFrom(store, [{ key: 'row', limit, cost, percent }], spare))[0]!;
  };
});

/** After each of so many requests, which of those that passed before it is given back; none if there are fewer. */
const refundsOf = (length: number): fc.Arbitrary<number[]> => fc.array(fc.nat({ max: 12 }), { minLength: length, maxLength: length });

/** After each of so many requests, what an operator does, and to which of its buckets; mostly nothing. */
const operationsOf = (length: number): fc.Arbitrary<(Operated | undefined)[]> => {
  const operation: fc.Arbitrary<BucketOperation> = fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('read' as const, 'reset' as const, 'unblock' as const) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('adjust' as const),
        tokens: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: -20, max: -1 }), fc.constantFrom(-1e9, 1e9)),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('block' as const),
        forMs: fc.oneof(fc.integer({ min: 1, max: 3000 }), fc.constant(366 * 86_400_000)),
      }),
    },
  );
  const on = fc.constantFrom(0, 0, 1, 2);
  const sometimes = fc.oneof({ weight: 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.record({ on, operation }) });
  return fc.array(sometimes, { minLength: length, maxLength: length });
};

interface Operated {
  readonly on: number;
  readonly operation: BucketOperation;
}

/** What a store says, or why not. */
const outcomeOf = (store: BucketOperator, { key, bucket }: BucketTake, operation: BucketOperation): Promise<BucketReading | string> =>
  store.operate(key, bucket, operation).catch((error: Error) => error.message);

test('Lua and TypeScript agree in every field, over random limits, edits, arrivals, refunds, penalties, spare capacity, shares kept for others, compound requests and operations', async () => {
  const { store, clock } = await create();
  let run = 0;
  const counts: Record<string, number> = {};
  /** What was refused as not possible does not count. */
  const count = (what: string, seen?: BucketReading | string): void =>
    void (typeof seen === 'string' || (counts[what] = (counts[what] ?? 0) + 1));
  const cases = fc
    .tuple(anyLimitSpecs(), anyLimitSpecs(), anyLimitSpecs())
    .chain(([a, b, edited]) =>
      fc.tuple(
        fc.constant({ a, b, edited }),
        arrivals(a, { maxLength: 25, stepsBack: true }),
        fc.integer({ min: 1_600_000_000_000, max: 1_800_000_000_000 }),
        refundsOf(25),
        operationsOf(25),
      ),
    );
  await fc.assert(
    fc.asyncProperty(cases, async ([{ a, b, edited }, requests, startMs, refunds, operations]) => {
      run++;
      const memory = new MemoryBucketStore(clock.now);
      let first = startedLimit(a, startMs);
      const second = startedLimit({ ...b, name: 'second' }, startMs);
      let nowUs = startMs * 1000;
      const receipts: { redis: Receipt; memory: Receipt }[] = [];
      for (const [i, { gapUs, cost }] of requests.entries()) {
        nowUs += gapUs;
        if (i === 10) first = editLimits([first], [edited], Math.floor(nowUs / 1000))[0]!;
        clock.nowMs = nowUs / 1000;
        const percent = run % 2 === 0 ? 0 : [0, 20, 60][i % 3]!;
        const takes: BucketTake[] = [
          bucketTake(`${run}.a`, first, cost, percent),
          bucketTake(`${run}.b`, second, Math.min(cost, 3), percent),
          penaltyTake(`${run}.p`, { refusals: 1 + (run % 4), windowMs: 1000, blockMs: 1000 * (1 + (run % 100)) }, run % 3, cost),
        ];
        const operated = operations[i];
        if (operated) {
          const seen = await outcomeOf(store, takes[operated.on]!, operated.operation);
          expect(seen).toEqual(await outcomeOf(memory, takes[operated.on]!, operated.operation));
          count(operated.operation.kind, seen);
        }
        const spare = refunds[i]! % 2 === 0;
        const receipt = { redis: await taken(store, takes, i + 1, spare), memory: await taken(memory, takes, i + 1, spare) };
        expect(receipt.redis).toEqual(receipt.memory);
        if (receipt.memory.levels.some(isBlocked)) count('refused by a block');
        if (isAllowed(receipt.memory)) receipts.push(receipt);
        if (i % 4 === 3) for (const each of [store, memory]) each.release({ takes, holder: i - 1 });
        const [refunded] = refunds[i]! < receipts.length ? receipts.splice(refunds[i]!, 1) : [];
        if (refunded) {
          store.refund(refunded.redis);
          memory.refund(refunded.memory);
        }
        // Before its clock moves on, and before an operation is sent: what is given back waits for the end of the turn.
        await new Promise((resolve) => setImmediate(resolve));
      }
    }),
    { numRuns: 400 },
  );
  const kinds = ['read', 'reset', 'adjust', 'block', 'unblock', 'refused by a block'];
  expect({ counts, missing: kinds.filter((what) => !(counts[what]! > 50)) }).toEqual({ counts, missing: [] });
});

test('law 3: whatever the algorithm, a bucket lives at least until it is full', async () => {
  const { store, clock } = await create();
  const parent = createRedis(server.url, 'limiter') as Redis;
  const monitor = await parent.monitor();
  /** What scripts have written since the last look: in seconds to live, or as long as before. */
  let writes: (number | 'as before')[] = [];
  let onMark: (mark: string) => void = () => {};
  monitor.on('monitor', (_time: string, [command = '', key, value = '', how, seconds]: string[]) => {
    if (command.toLowerCase() !== 'set') return;
    if (key === 'mark') onMark(value);
    else writes.push(how === 'KEEPTTL' ? 'as before' : Number(seconds));
  });
  let run = 0;
  let kept = 0;
  try {
    await fc.assert(
      fc.asyncProperty(
        anyLimitSpecs().chain((spec) => fc.tuple(fc.constant(spec), arrivals(spec, { maxLength: 15 }))),
        async ([spec, requests]) => {
          run++;
          clock.nowMs = 1_700_000_000_000;
          const limit = startedLimit(spec, clock.nowMs);
          let expiresAtMs = Infinity;
          for (const [i, { gapUs, cost }] of requests.entries()) {
            clock.nowMs += gapUs / 1000;
            // The server's own clock stands still meanwhile: what would have expired is removed by hand.
            if (clock.nowMs >= expiresAtMs) await redis.del(`tg:${run}`);
            writes = [];
            const take = bucketTake(String(run), limit, cost);
            const receipt = await taken(store, [take], i + 1);
            const mark = `${run}.${i}`;
            const marked = new Promise<void>((resolve) => (onMark = (seen) => (seen === mark ? resolve() : undefined)));
            await redis.set('mark', mark);
            await marked;
            for (const write of writes) {
              if (write === 'as before') kept++;
              else expiresAtMs = clock.nowMs + write * 1000;
            }
            const { resetAfterMs } = decide(take.bucket, receipt.levels[0]!, cost, isAllowed(receipt));
            if (writes.length > 0) expect(expiresAtMs).toBeGreaterThanOrEqual(clock.nowMs + resetAfterMs);
          }
        },
      ),
      { numRuns: 300, endOnFailure: true },
    );
  } finally {
    monitor.disconnect();
    parent.disconnect();
  }
  expect(kept).toBeGreaterThan(100);
}, 60_000);

describe('an operation', () => {
  const limit = startedLimit(
    { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 1, refillIntervalMs: 3_600_000, refill: 'greedy' },
    0,
  );

  test('is felt by all stores on one Redis with their next take', async () => {
    await redis.flushall();
    const [one, other] = [1, 2].map(() => new RedisBucketStore(redis)) as [RedisBucketStore, RedisBucketStore];
    stores.push(one, other);
    await takeFrom(one, [{ key: 'k', limit, cost: 10 }]);
    await other.operate('k', bucketOf(limit), { kind: 'adjust', tokens: 3 });
    expect((await takeFrom(one, [{ key: 'k', limit }]))[0]).toMatchObject({ allowed: true, remaining: 2 });
    await other.operate('k', bucketOf(limit), { kind: 'block', forMs: 60_000 });
    for (const store of [one, other])
      expect((await takeFrom(store, [{ key: 'k', limit }]))[0]).toMatchObject({ allowed: false, blocked: true });
    expect((await one.operate('k', bucketOf(limit), { kind: 'unblock' })).remaining).toBe(2);
    expect((await takeFrom(other, [{ key: 'k', limit }]))[0]).toMatchObject({ allowed: true, remaining: 1 });
  });

  test('is carried out in the window of Redis’ clock, whatever that of this machine says', async () => {
    await redis.flushall();
    const daily = startedLimit({ name: 'l', algorithm: 'fixed_window', limit: 10, calendar: 'day', start: 'clock' }, 0);
    const store = new RedisBucketStore(redis, { deadlineMs: 5000 });
    stores.push(store);
    const now = jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 40 * 86_400_000);
    try {
      expect(await store.operate('k', bucketOf(daily), { kind: 'adjust', tokens: -4 })).toMatchObject({ remaining: 6 });
    } finally {
      now.mockRestore();
    }
    expect((await takeFrom(store, [{ key: 'k', limit: daily, cost: 0 }]))[0]).toMatchObject({ remaining: 6 });
  });

  test('that reads creates nothing, and after a block a plain bucket is one integer again', async () => {
    const { store, clock } = await create();
    clock.nowMs = 1_700_000_000_000;
    await store.operate('k', bucketOf(limit), { kind: 'read' });
    await store.operate('k', bucketOf(limit), { kind: 'unblock' });
    expect(await redis.keys('*')).toEqual([]);
    await store.operate('k', bucketOf(limit), { kind: 'block', forMs: 1000 });
    expect(await redis.get('tg:k')).toBe('B1700000001000000,1000000;0');
    clock.advance(1000);
    await takeFrom(store, [{ key: 'k', limit }]);
    expect(await redis.object('ENCODING', 'tg:k')).toBe('int');
  });

  test('a block holds whatever else stands at the bucket’s key', async () => {
    const { store } = await create();
    await redis.set('tg:k', 'B0000000001000000,1000000;no bucket');
    expect((await takeFrom(store, [{ key: 'k', limit }]))[0]).toMatchObject({ blocked: true, retryAfterMs: 1000 });
    await redis.set('tg:k', 'B1;no block');
    expect((await takeFrom(store, [{ key: 'k', limit }]))[0]).toMatchObject({ allowed: true, remaining: 9 });
  });

  test('law 3: a bucket lives until it is full and its block is over', async () => {
    const { store, clock } = await create();
    const HOUR_MS = 3_600_000;
    let run = 0;
    const livesMs = (): Promise<number> => redis.pttl(`tg:${run}`);
    await fc.assert(
      fc.asyncProperty(
        anyLimitSpecs(),
        fc.integer({ min: 1, max: 1e9 }),
        fc.integer({ min: HOUR_MS, max: 366 * 24 * HOUR_MS }),
        async (spec, tokens, forMs) => {
          run++;
          clock.nowMs = 1_700_000_000_000;
          const started = startedLimit(spec, clock.nowMs);
          const take = bucketTake(String(run), started);
          const did = async (operation: BucketOperation): Promise<void> => {
            const { resetAfterMs, blockedForMs } = await store.operate(take.key, take.bucket, operation);
            // What the test itself takes is less than the half minute that every bucket lives longer.
            expect(await livesMs()).toBeGreaterThanOrEqual(Math.max(resetAfterMs, blockedForMs));
          };
          const receipt = await taken(store, [take], 1);
          const wasTaken = isAllowed(receipt);
          if (spec.algorithm !== 'concurrency') await did({ kind: 'adjust', tokens: -tokens });
          await did({ kind: 'block', forMs });
          if (spec.algorithm !== 'concurrency') await did({ kind: 'adjust', tokens });
          await did({ kind: 'reset' });
          if (wasTaken) store.refund(receipt);
          await new Promise((resolve) => setImmediate(resolve));
          // Whoever looks after a step back of the clock makes the block end later.
          clock.nowMs -= HOUR_MS;
          await redis.pexpire(`tg:${run}`, forMs - HOUR_MS + 1000);
          const [level] = (await taken(store, [bucketTake(take.key, started, 0)])).levels;
          expect(await livesMs()).toBeGreaterThanOrEqual(decide(take.bucket, level!, 0, false).retryAfterMs as number);
          await redis.pexpire(`tg:${run}`, 1000);
          await did({ kind: 'unblock' });
        },
      ),
      { numRuns: 200 },
    );
  });

  test('without an answer in time fails, and so does one whose Redis is gone', async () => {
    const parent = createRedis(server.url, 'limiter') as Redis;
    const store = new RedisBucketStore(parent, { deadlineMs: 50 });
    stores.push(store);
    await new Promise((resolve) => parent.once('ready', resolve));
    await redis.call('CLIENT', 'PAUSE', '300', 'ALL');
    const failed = await store.operate('k', bucketOf(limit), { kind: 'block', forMs: 1000 }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(StoreUnavailableError);
    expect((failed as Error).message).toContain('no answer');
    expect(store.failure?.code).toBe('TIMEOUT');
    await expect(store.operate('k', bucketOf(limit), { kind: 'read' })).rejects.toThrow('not answering');
    await redis.call('CLIENT', 'UNPAUSE');
    parent.disconnect();
  });
});

describe('in Redis', () => {
  const limit = startedLimit(
    { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 1, refillIntervalMs: 60_000, refill: 'greedy' },
    0,
  );

  test('a bucket is one integer, with a time to live not shorter than its time to full', async () => {
    await redis.flushall();
    const store = new RedisBucketStore(redis);
    stores.push(store);
    const [decision] = await takeFrom(store, [{ key: '{m}1.0', limit, cost: 10 }]);
    expect(await redis.object('ENCODING', 'tg:{m}1.0')).toBe('int');
    expect(await redis.pttl('tg:{m}1.0')).toBeGreaterThanOrEqual(decision!.resetAfterMs);
  });

  test('a bucket that a day of 25 hours fills lives that long', async () => {
    const { store, clock } = await create();
    clock.nowMs = Date.parse('2026-10-24T22:00:00Z');
    const daily = startedLimit(
      {
        name: 'l',
        algorithm: 'token_bucket',
        capacity: 1,
        refillTokens: 1,
        refill: 'interval',
        calendar: 'day',
        timeZone: 'Europe/Berlin',
      },
      0,
    );
    expect(await takeFrom(store, [{ key: 'k', limit: daily }])).toMatchObject([{ allowed: true, resetAfterMs: 90_000_000 }]);
    expect(await redis.pttl('tg:k')).toBeGreaterThanOrEqual(90_000_000);
  });

  test('a refusal writes nothing, and looking creates nothing', async () => {
    const { store } = await create();
    await takeFrom(store, [{ key: 'a', limit, cost: 11 }]);
    await takeFrom(store, [{ key: 'b', limit, cost: 0 }]);
    expect(await redis.keys('*')).toEqual([]);
  });

  test('what is no bucket at a bucket’s key counts as a missing bucket', async () => {
    const { store } = await create();
    await redis.set('tg:odd', 'not a number');
    await redis.hset('tg:hash', 'a', '1');
    expect((await takeFrom(store, [{ key: 'odd', limit }]))[0]).toMatchObject({ allowed: true, remaining: 9 });
    expect((await takeFrom(store, [{ key: 'hash', limit }]))[0]).toMatchObject({ allowed: true, remaining: 9 });
  });

  describe('a gateway whose clock is wrong decides by the clock of Redis: steps of a calendar', () => {
    const HOUR_US = 3_600_000_000;
    const dateNow = Date.now;
    afterEach(() => void (Date.now = dateNow));
    const hourly = startedLimit(
      { name: 'l', algorithm: 'token_bucket', capacity: 5, refillTokens: 1, refill: 'interval', calendar: 'hour' },
      0,
    );
    const edited = editLimits(
      [hourly],
      [{ name: 'l', algorithm: 'token_bucket', capacity: 6, refillTokens: 1, refill: 'interval', calendar: 'hour' }],
      dateNow() - 100 * 60_000,
    )[0]!;

    test.each([
      // By one hour nothing has to be asked again; by more Redis says so, once.
      [0, 1],
      [1, 1],
      [-1, 1],
      [2, 2],
      [-2, 2],
      [1000, 2],
      [-1000, 2],
    ])('by %d hours: asked %d times at first', async (hours, calls) => {
      await redis.flushall();
      const store = new RedisBucketStore(redis, { deadlineMs: 5000 });
      stores.push(store);
      const [seconds] = await redis.time();
      const hourUs = Math.floor(Number(seconds) / 3600) * HOUR_US;
      for (const [ago, key] of [
        [1, 'a'],
        [4, 'b'],
        [6, 'c'],
      ] as const)
        await redis.set(`tg:${key}`, `${hourUs - ago * HOUR_US}:0i`);
      Date.now = () => dateNow() + hours * 3_600_000;
      const takes = ['a', 'b', 'c', 'none'].map((key) => bucketTake(key, hourly));
      // The second time the clock of Redis is known, and what was packed by another is not used again.
      for (const [tokens, expectedCalls] of [
        [[1, 4, 5, 5], calls],
        [[0, 3, 4, 4], 1],
      ] as const) {
        await redis.config('RESETSTAT');
        const receipts = await Promise.all(takes.map((take) => taken(store, [take])));
        expect(receipts.map(({ levels: [level] }) => level)).toEqual(
          tokens.map((each) => expect.objectContaining({ tokens: each, steppedAtUs: hourUs })),
        );
        expect(Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))![1])).toBe(expectedCalls);
      }
    });

    test.each([
      // After two steps one token is owed. A gateway that is an hour late knows of the step since; one that is two hours late does not.
      [0, 2, 1],
      [-1, 2, 1],
      [-2, 2, 0],
      [1, 2, 0],
      // A take is never later than now.
      [0, 0, 3],
      [-2, 0, 3],
      [1, 0, 2],
    ])('by %d hours when it refunds three tokens that were taken %d hours ago: gives back %d', async (hours, ago, given) => {
      await redis.flushall();
      const store = new RedisBucketStore(redis, { deadlineMs: 5000 });
      stores.push(store);
      const [seconds] = await redis.time();
      const hourUs = Math.floor(Number(seconds) / 3600) * HOUR_US;
      const thenUs = hourUs - ago * HOUR_US;
      await redis.set('tg:k', `${hourUs}:0i`);
      // What is sent in full comes behind what was sent after it.
      await loadScripts(redis);
      Date.now = () => dateNow() + hours * 3_600_000;
      store.refund({
        takes: [bucketTake('k', hourly, 3)],
        levels: [{ tokens: 5, steppedAtUs: thenUs, sinceStepUs: 0 }],
        takenAtUs: thenUs,
        holder: 0,
      });
      await new Promise((resolve) => setImmediate(resolve));
      Date.now = dateNow;
      expect((await takeFrom(store, [{ key: 'k', limit: hourly, cost: 0 }]))[0]).toMatchObject({ remaining: given });
    });

    test.each([0, 5, -5])('by %d hours: after an edit that Redis has to be told of', async (hours) => {
      await redis.flushall();
      const store = new RedisBucketStore(redis, { deadlineMs: 5000 });
      stores.push(store);
      const editedUs = edited.since.atMs * 1000;
      await redis.set('tg:k', `${Math.floor(editedUs / HOUR_US) * HOUR_US - 2 * HOUR_US}:0i`);
      Date.now = () => dateNow() + hours * 3_600_000;
      const {
        levels: [level],
        takenAtUs,
      } = await taken(store, [bucketTake('k', edited)]);
      // Two steps before the edit, one or two after it.
      expect(level).toMatchObject({ tokens: 2 + Math.floor(takenAtUs / HOUR_US) - Math.floor(editedUs / HOUR_US) });
    });
  });

  test('a script that Redis has forgotten is sent again', async () => {
    const { store } = await create();
    await takeFrom(store, [{ key: 'k', limit }]);
    await redis.script('FLUSH');
    expect((await takeFrom(store, [{ key: 'k', limit }]))[0]).toMatchObject({ remaining: 8 });
  });

  test('more takes than one call holds, on many keys, all get their own answer', async () => {
    const { store } = await create();
    const answers = await Promise.all(Array.from({ length: 3000 }, (_, i) => takeFrom(store, [{ key: `k${i % 700}`, limit }])));
    for (let i = 0; i < 3000; i++) expect(answers[i]![0]!.remaining).toBe(9 - Math.floor(i / 700));
  });
});
