import * as fc from 'fast-check';
import {
  anyLimitSpecs,
  asking,
  bucketTake,
  burst,
  describeBucketStore,
  describeGolden,
  FakeClock,
  penaltyTake,
  startedLimit,
  taken,
  takeFrom,
} from '../../testing/index.js';
import { runs } from '../../testing/properties/runs.js';
import type { PenaltyLevel } from '../algorithms/penalty/penalty.js';
import type { BucketLevel } from '../buckets/bucket.js';
import type { BucketReading } from '../buckets/bucket-operation.js';
import { editLimits } from '../limits/limit-edit.js';
import { capacityOf, type Limit, type LimitSpec } from '../limits/limit.js';
import { MemoryBucketStore } from './memory-bucket-store.js';
import type { BucketOperator, BucketStore, Receipt, TakeAnswer } from './ports.js';
import { RefusalMemory } from './refusal-memory.js';
import { RememberingBucketStore } from './remembering-bucket-store.js';
import { allPass, type BucketTake, type SlotHolder, type TakeRequest } from '../buckets/take.js';

/** The clock of this process while that of the store is set here and there: it only goes forward, and whoever sets the other takes a second. */
function unset(clock: FakeClock): () => number {
  let [elapsedMs, seenMs] = [0, clock.nowMs];
  return () => {
    elapsedMs += clock.nowMs < seenMs ? 1000 : clock.nowMs - seenMs;
    seenMs = clock.nowMs;
    return elapsedMs;
  };
}

function create() {
  const clock = new FakeClock();
  return { store: new RememberingBucketStore(new MemoryBucketStore(clock.now), unset(clock)), clock };
}

describeBucketStore('RememberingBucketStore', create);

describeGolden(() => {
  const { store, clock } = create();
  return async (limit, cost, atMs, spare, percent) => {
    clock.nowMs = atMs;
    return (await takeFrom(store, [{ key: 'row', limit, cost, percent }], spare))[0]!;
  };
});

/** A store that counts how often it is asked, and answers when it is told to. */
class Watched implements BucketStore, BucketOperator {
  readonly inner: MemoryBucketStore;
  takes = 0;
  held: (() => void)[] | undefined;

  constructor(clock: FakeClock) {
    this.inner = new MemoryBucketStore(clock.now);
  }

  take(request: TakeRequest, answer: TakeAnswer): void {
    this.takes++;
    this.inner.take(request, (...outcome) => (this.held ? void this.held.push(() => answer(...outcome)) : answer(...outcome)));
  }
  release(request: SlotHolder): void {
    this.inner.release(request);
  }
  refund(receipt: Receipt): void {
    this.inner.refund(receipt);
  }
  operate(...args: Parameters<BucketOperator['operate']>): Promise<BucketReading> {
    return this.inner.operate(...args);
  }
}

function watched() {
  const clock = new FakeClock(1_763_000_000_000);
  const inner = new Watched(clock);
  const store = new RememberingBucketStore(inner, clock.now);
  const limit = startedLimit(burst({ capacity: 2, refillTokens: 1, refillIntervalMs: 60_000 }), clock.nowMs);
  const take = bucketTake('k', limit);
  /** Whether it passes, and whether the store was asked. */
  const ask = (takes: readonly BucketTake[] = [take], spare = false): [boolean, boolean] => {
    const before = inner.takes;
    let passes: boolean | undefined;
    const request = asking(takes, { spare });
    store.take(request, (outcome) => (passes = allPass(request, outcome as readonly BucketLevel[])));
    return [passes!, inner.takes > before];
  };
  return { clock, inner, store, limit, take, ask };
}

const PASSES = [true, true];
const REFUSED = [false, true];
const REMEMBERED = [false, false];

describe('what was refused', () => {
  test('is asked once a second', () => {
    const { clock, ask } = watched();
    expect([ask(), ask(), ask(), ask()]).toEqual([PASSES, PASSES, REFUSED, REMEMBERED]);
    clock.advance(999.999);
    expect(ask()).toEqual(REMEMBERED);
    clock.advance(0.001);
    expect([ask(), ask()]).toEqual([REFUSED, REMEMBERED]);
    clock.nowMs = 1_763_000_060_000;
    expect(ask()).toEqual(PASSES);
  });

  test('says how long it still lasts, as time passes', async () => {
    const { clock, store, limit, ask } = watched();
    for (let i = 0; i < 3; i++) ask();
    clock.advance(400);
    expect((await takeFrom(store, [{ key: 'k', limit }]))[0]).toMatchObject({ retryAfterMs: 59_600, resetAfterMs: 119_600 });
  });

  test('is not remembered beyond the refusal, counted from when it was asked', () => {
    const { clock, inner, store } = watched();
    const quick = bucketTake('quick', startedLimit(burst({ capacity: 1, refillTokens: 1, refillIntervalMs: 300 }), clock.nowMs));
    store.take(asking([quick]), () => {});
    inner.held = [];
    store.take(asking([quick]), () => {});
    // The answer took its time.
    clock.advance(200);
    inner.held.pop()!();
    inner.held = undefined;
    const asked = () => {
      const before = inner.takes;
      store.take(asking([quick]), () => {});
      return inner.takes > before;
    };
    clock.advance(98);
    expect(asked()).toBe(false);
    clock.advance(2);
    expect(asked()).toBe(true);
  });

  test('is refused for as much or more, and asked for less', () => {
    const { take, ask } = watched();
    const of = (cost: number): BucketTake[] => [{ ...take, cost }];
    ask(of(1));
    expect([ask(of(2)), ask(of(2)), ask(of(1)), ask(of(1))]).toEqual([REFUSED, REMEMBERED, PASSES, REFUSED]);
    expect([ask(of(2)), ask(of(0)), ask(of(1))]).toEqual([REMEMBERED, PASSES, REMEMBERED]);
  });

  test('of a window says for a higher cost when surely all is there', () => {
    const { clock, store, ask } = watched();
    const log = bucketTake('log', startedLimit({ name: 'log', algorithm: 'sliding_log', limit: 2, windowMs: 10_000 }, clock.nowMs));
    const of = (cost: number): BucketTake => ({ ...log, cost });
    ask([of(1)]);
    clock.advance(4000);
    expect([ask([of(1)]), ask([of(1)])]).toEqual([PASSES, REFUSED]);
    let level: BucketLevel | undefined;
    store.take(asking([of(1)]), (outcome) => (level = (outcome as readonly BucketLevel[])[0]));
    expect(level).toMatchObject({ retryUs: 6_000_000 });
    store.take(asking([of(2)]), (outcome) => (level = (outcome as readonly BucketLevel[])[0]));
    expect(level).toMatchObject({ retryUs: 10_000_000 });
  });

  test('ends with an edit', () => {
    const { clock, limit, ask } = watched();
    for (let i = 0; i < 3; i++) ask();
    const [edited] = editLimits(
      [limit],
      [burst({ capacity: 5, refillTokens: 1, refillIntervalMs: 60_000, onEdit: 'reset' })],
      clock.nowMs,
    ) as [Limit];
    expect([ask(), ask([bucketTake('k', edited)])]).toEqual([REMEMBERED, PASSES]);
  });

  test('ends with a refund, also one that is on its way', () => {
    const { clock, store, take, ask } = watched();
    let receipt: Receipt | undefined;
    store.take(
      asking([take]),
      (levels, takenAtUs) => (receipt = { takes: [take], levels: levels as readonly BucketLevel[], takenAtUs, holder: 0 }),
    );
    expect([ask(), ask(), ask()]).toEqual([PASSES, REFUSED, REMEMBERED]);
    store.refund(receipt!);
    expect([ask(), ask(), ask()]).toEqual([PASSES, REFUSED, REFUSED]);
    clock.advance(50);
    expect([ask(), ask()]).toEqual([REFUSED, REMEMBERED]);
  });

  test('that was asked before a refund is not remembered after it', () => {
    const { inner, store, take, ask } = watched();
    const receipt: Receipt = { takes: [take], levels: [], takenAtUs: 0, holder: 0 };
    inner.inner.refund = () => {};
    ask();
    ask();
    inner.held = [];
    store.take(asking([take]), () => {});
    store.refund(receipt);
    for (const answer of inner.held) answer();
    inner.held = undefined;
    expect(ask()).toEqual(REFUSED);
  });

  test.each(['reset', 'unblock', 'adjust'] as const)('ends with the operation %s', async (kind) => {
    const { clock, store, take, ask } = watched();
    if (kind === 'unblock') await store.operate('k', take.bucket, { kind: 'block', forMs: 60_000 });
    else for (let i = 0; i < 2; i++) ask();
    clock.advance(50);
    expect([ask(), ask()]).toEqual([REFUSED, REMEMBERED]);
    await store.operate('k', take.bucket, kind === 'adjust' ? { kind, tokens: 1 } : { kind });
    expect(ask()).toEqual(PASSES);
  });

  test('by a block of an operator is remembered, also of an elastic limit with capacity to spare', async () => {
    const { clock, store, ask } = watched();
    const elastic = bucketTake('e', startedLimit({ ...burst(), throttle: 'elastic' }, clock.nowMs));
    await store.operate('e', elastic.bucket, { kind: 'block', forMs: 500 });
    clock.advance(60);
    expect([ask([elastic], true), ask([elastic], true)]).toEqual([REFUSED, REMEMBERED]);
    clock.advance(440);
    expect(ask([elastic])).toEqual(PASSES);
  });

  test('by slots or an elastic limit is asked again, because that may change at any time', () => {
    const { clock, limit, ask } = watched();
    const one = bucketTake('one', startedLimit({ name: 'one', algorithm: 'concurrency', limit: 1, slotTimeoutMs: 60_000 }, clock.nowMs));
    const elastic = bucketTake(
      'e',
      startedLimit({ ...burst({ capacity: 1, refillIntervalMs: 60_000 }), throttle: 'elastic' }, clock.nowMs),
    );
    for (const take of [one, elastic]) expect([ask([take]), ask([take]), ask([take])]).toEqual([PASSES, REFUSED, REFUSED]);
    expect(ask([elastic], true)).toEqual([true, true]);
    // Another limit of the same request is remembered all the same.
    const hard = bucketTake('k', limit, 2);
    ask([hard]);
    expect([ask([elastic, hard, one], true), ask([elastic, hard, one], true)]).toEqual([REFUSED, REMEMBERED]);
  });

  test('under several limits lasts as long as the one that refuses longest', () => {
    const { clock, ask } = watched();
    const of = (key: string, refillIntervalMs: number) =>
      bucketTake(key, startedLimit(burst({ capacity: 1, refillTokens: 1, refillIntervalMs }), clock.nowMs));
    const [short, long, free] = [
      of('short', 200),
      of('long', 700),
      bucketTake('free', startedLimit(burst({ capacity: 1000 }), clock.nowMs)),
    ];
    expect([ask([short]), ask([long]), ask([free, short, long])]).toEqual([PASSES, PASSES, REFUSED]);
    clock.advance(698);
    expect(ask([free, short, long])).toEqual(REMEMBERED);
    // What it knows of one limit is known to other requests.
    expect([ask([long]), ask([short])]).toEqual([REMEMBERED, PASSES]);
    clock.advance(2);
    expect(ask([free, long])).toEqual(PASSES);
  });

  test('is forgotten, the oldest first, when memory is full', () => {
    const clock = new FakeClock();
    const memory = new RefusalMemory({ maxBytes: 100_000 });
    const store = new RememberingBucketStore(new MemoryBucketStore(clock.now), clock.now, memory);
    const none = startedLimit(burst({ capacity: 0 }), 0);
    const remembered = (key: string): boolean => {
      let seen: boolean | undefined;
      store.take(asking([{ ...bucketTake(key, none), bucket }]), (_outcome, _atUs, source) => (seen = source === 'memory'));
      return seen!;
    };
    const { bucket } = bucketTake('', none);
    for (let i = 0; i < 10_000; i++) {
      remembered(`key of a client ${i}`);
      expect(memory.bytes).toBeLessThanOrEqual(100_000);
    }
    expect(memory.size).toBeGreaterThan(200);
    expect([remembered('key of a client 9999'), remembered('key of a client 9900'), remembered('key of a client 0')]).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe('refusals that a penalty counts', () => {
  const penalty = { refusals: 5, windowMs: 10_000, blockMs: 60_000 };

  function penalized() {
    const { clock, inner, store, take, ask } = watched();
    const takes = [take, penaltyTake('p', penalty, 1)];
    const counted = async () =>
      (
        await taken(
          inner.inner,
          takes.map((each) => ({ ...each, cost: 0 })),
        )
      ).levels[1];
    ask(takes);
    ask(takes);
    return { clock, inner, store, takes, counted, ask: () => ask(takes) };
  }

  test('begin the block with the same request as without a memory', async () => {
    const { ask, counted } = penalized();
    // The first is asked, three are remembered, the fifth begins the block, and that is remembered as well.
    expect([ask(), ask(), ask(), ask()]).toEqual([REFUSED, REMEMBERED, REMEMBERED, REMEMBERED]);
    expect(await counted()).toMatchObject({ refusals: 1 });
    expect([ask(), ask()]).toEqual([REFUSED, REMEMBERED]);
    expect(await counted()).toMatchObject({ blockedUs: 60_000_000 });
  });

  test('are told in one take', async () => {
    const { ask, counted, store, inner } = penalized();
    for (let i = 0; i < 3; i++) ask();
    const before = inner.takes;
    store.tell();
    store.tell();
    expect(inner.takes).toBe(before + 1);
    expect(await counted()).toMatchObject({ refusals: 3 });
    expect([ask(), ask(), ask()]).toEqual([REMEMBERED, REFUSED, REMEMBERED]);
    expect(await counted()).toMatchObject({ blockedUs: 60_000_000 });
  });

  test('of two processes begin a block when they are told', async () => {
    const { clock, inner, takes, store, ask, counted } = penalized();
    const other = new RememberingBucketStore(inner, clock.now);
    for (let i = 0; i < 3; i++) {
      ask();
      other.take(asking(takes), () => {});
    }
    clock.advance(100);
    store.tell();
    other.tell();
    expect(await counted()).toMatchObject({ blockedUs: 60_000_000 });
  });
});

/** Requests in time, some of them given back, some elsewhere. */
interface Step {
  readonly gapUs: number;
  readonly cost: number;
  readonly mix: number;
  readonly refunds: boolean;
}

/** Mostly of a moment, and mostly more than there is. */
function steps(specs: readonly LimitSpec[]): fc.Arbitrary<Step> {
  const most = capacityOf(specs[0]!);
  const gapUs = fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 400_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 1e10 }) },
  );
  return fc.record({
    gapUs,
    cost: fc.constantFrom(0, 1, 1, Math.ceil(most / 3), most, most + 1),
    mix: fc.nat({ max: 15 }),
    refunds: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  });
}

// But for what the end of a penalty's window leaves out: see the contract of penalties.
test('a request that is refused from memory would be refused by the store, whatever the limits', () => {
  const mixes = fc.array(anyLimitSpecs(), { minLength: 1, maxLength: 4 }).chain((specs) =>
    fc.tuple(
      fc.constant(specs),
      fc.option(
        fc.record({
          refusals: fc.integer({ min: 1, max: 6 }),
          windowMs: fc.constant(1e9),
          blockMs: fc.integer({ min: 1000, max: 5000 }),
        }),
        { nil: undefined },
      ),
      fc.array(steps(specs), { minLength: 10, maxLength: 60 }),
    ),
  );
  let remembered = 0;
  let blocks = 0;
  fc.assert(
    fc.property(mixes, ([specs, penalty, asked]) => {
      // Not of today: there a double of milliseconds has no whole microseconds.
      const clock = new FakeClock(1_000_000_000);
      let nowUs = clock.nowMs * 1000;
      const plain = new MemoryBucketStore(clock.now);
      const remembering = new RememberingBucketStore(new MemoryBucketStore(clock.now), clock.now);
      const buckets = specs.map((spec, i) => bucketTake(`k${i}`, startedLimit(spec, clock.nowMs)));
      const block = penalty && penaltyTake('p', penalty, 1);
      asked.forEach(({ gapUs, cost, mix, refunds }, at) => {
        nowUs += gapUs;
        clock.nowMs = nowUs / 1000;
        const takes = buckets
          .filter((_, i) => i === 0 || (mix >> i) % 2 === 1)
          .flatMap((take, i) =>
            i === 0 && block
              ? [
                  { ...take, cost },
                  { ...block, cost },
                ]
              : [{ ...take, cost }],
          );
        let expected: readonly BucketLevel[] = [];
        let expectedAtUs = 0;
        const request = asking(takes, { holder: at + 1 });
        plain.take(request, (outcome, atUs) => ([expected, expectedAtUs] = [outcome as readonly BucketLevel[], atUs]));
        remembering.take(request, (outcome, takenAtUs, fromMemory) => {
          const levels = outcome as readonly BucketLevel[];
          if (fromMemory) remembered++;
          if (takes.some(({ bucket }, i) => bucket.kind === 'penalty' && (levels[i] as PenaltyLevel).blockedUs > 0)) blocks++;
          const passes = allPass(request, expected);
          expect(allPass(request, levels)).toBe(passes);
          takes.forEach(({ bucket }, i) => {
            if (bucket.kind === 'penalty') expect(levels[i]).toEqual(expected[i]);
          });
          if (!passes || !refunds) return;
          remembering.refund({ takes, levels, takenAtUs, holder: at + 1 });
          plain.refund({ takes, levels: expected, takenAtUs: expectedAtUs, holder: at + 1 });
        });
      });
    }),
    runs(150),
  );
  expect(remembered).toBeGreaterThan(90);
  expect(blocks).toBeGreaterThan(30);
});
