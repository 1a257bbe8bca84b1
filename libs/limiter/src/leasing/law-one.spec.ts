import * as fc from 'fast-check';
import { asking, burst, FakeClock, LeasingWorld, runs, type Passage } from '../../testing/index.js';
import { bucketOf } from '../buckets/bucket.js';
import type { Limit, LimitSpec } from '../limits/limit.js';
import { MemoryBucketStore } from '../stores/memory-bucket-store.js';
import { allPass } from '../buckets/take.js';

/**
 * Law 1 with leases: whatever several gateways pass, plain buckets would have passed from which each token is taken when it is spent. Gateways die, calls are
 * late, lost and overtake each other, rules are edited, requests are given back, clocks of gateways step and machines stand still.
 */

const passages: fc.Arbitrary<Passage> = fc.record({
  thereMs: fc.constantFrom(0, 0, 0, 1, 5, 24, 400, 1500),
  backMs: fc.constantFrom(0, 0, 0, 1, 5, 400, 1500),
  loses: fc.constantFrom(
    'nothing' as const,
    'nothing' as const,
    'nothing' as const,
    'nothing' as const,
    'call' as const,
    'answer' as const,
  ),
});

const gateway = fc.integer({ min: 0, max: 2 });
const asks = fc.record({
  what: fc.constant('ask' as const),
  gateway,
  times: fc.integer({ min: 1, max: 30 }),
  cost: fc.constantFrom(1, 1, 1, 2, 5),
});
const events = fc.oneof(
  { weight: 10, arbitrary: asks },
  {
    weight: 8,
    arbitrary: fc.record({
      what: fc.constant('advance' as const),
      ms: fc.constantFrom(1, 7, 60, 130, 250, 500, 990, 1500, 4000, 31_536_000_000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('refund' as const), oneIn: fc.integer({ min: 1, max: 4 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('passages' as const), passages: fc.array(passages, { minLength: 1, maxLength: 6 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('edit' as const),
      capacity: fc.integer({ min: 0, max: 20 }),
      refillTokens: fc.integer({ min: 1, max: 60 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('die' as const), gateway }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('close' as const), gateway }) },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant('wall' as const), gateway, byMs: fc.constantFrom(-3_600_000, -900, 900, 3_600_000) }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('suspend' as const), gateway, ms: fc.constantFrom(300, 2000, 60_000) }) },
);
/** An edit that makes the bucket smaller, of which each gateway hears so much later. */
const lowering = fc.record({
  what: fc.constant('lower' as const),
  capacity: fc.integer({ min: 1, max: 20 }),
  refillTokens: fc.integer({ min: 1, max: 20 }),
  // Meanwhile the bucket has not filled up: a store forgets a full one, and with it that there are newer numbers.
  heardAfterMs: fc.constantFrom(0, 20, 20),
});
type Event = (typeof events extends fc.Arbitrary<infer E> ? E : never) | (typeof lowering extends fc.Arbitrary<infer E> ? E : never);

const window = (limit: number, windowMs: number): LimitSpec => ({ name: 'w', algorithm: 'fixed_window', limit, windowMs, start: 'clock' });
const specs = fc.oneof(
  fc
    .record({
      capacity: fc.integer({ min: 1, max: 60 }),
      refillTokens: fc.integer({ min: 1, max: 60 }),
      refillIntervalMs: fc.constantFrom(100, 700, 1000),
    })
    .map((numbers): LimitSpec => burst(numbers)),
  fc
    .record({
      capacity: fc.integer({ min: 1, max: 60 }),
      refillTokens: fc.integer({ min: 1, max: 60 }),
      refillIntervalMs: fc.constantFrom(300, 1000),
    })
    .map((numbers): LimitSpec => burst({ ...numbers, refill: 'interval', align: 'clock' })),
  fc
    .record({ limit: fc.integer({ min: 1, max: 60 }), windowMs: fc.constantFrom(500, 2000) })
    .map(({ limit, windowMs }) => window(limit, windowMs)),
);

/** A request that has passed. */
interface Passed {
  /** When each of its buckets was taken from. */
  readonly atMs: readonly number[];
  readonly cost: number;
  readonly limits: readonly Limit[];
  readonly refund: () => void;
  isRefunded: boolean;
}

/** How many tokens a plain bucket would have refused, had the requests that were given back never come. */
function refusedByPlainBucket(all: readonly Passed[], index: number): number {
  const clock = new FakeClock();
  const plain = new MemoryBucketStore(clock.now);
  let refused = 0;
  const taken = all
    .filter(({ isRefunded }) => !isRefunded)
    .map(({ atMs, cost, limits }) => ({ atMs: atMs[index]!, cost, limit: limits[index]! }));
  taken.sort((a, b) => a.atMs - b.atMs || a.limit.generation - b.limit.generation);
  for (const { atMs, cost, limit } of taken) {
    clock.nowMs = atMs;
    const request = asking([{ key: 'k', bucket: bucketOf(limit), cost }]);
    plain.take(request, (outcome) => {
      if (outcome instanceof Error || !allPass(request, outcome)) refused++;
    });
  }
  return refused;
}

function play(limits: readonly LimitSpec[], happenings: readonly Event[]) {
  const world = new LeasingWorld(limits, 3);
  const passed: Passed[] = [];
  let fromLeases = 0;
  let grown = 0;
  /** Tokens that were lent when a bucket was made smaller, beyond what it holds since. */
  let lentTooMany = 0;
  /** Spent from leases by gateways that had not heard of the last edit. */
  let spentUnheard = 0;
  /** Spent by the first request after a gateway had heard of an edit: of a lease from before it. */
  let spentOfOld = 0;
  const hasJustHeard = world.gateways.map(() => false);
  const hears = (at: number): void => {
    const gateway = world.gateways[at]!;
    // Not if it has heard of these numbers before, with a later edit or because this one changes nothing: it may have a lease under them by now.
    const isNews = gateway.limits.some(({ generation }, i) => generation !== world.limits[i]!.generation);
    gateway.hear();
    if (isNews) hasJustHeard[at] = true;
  };
  const act: { [W in Event['what']]: (event: Extract<Event, { what: W }>) => void } = {
    ask({ gateway: at, times, cost }) {
      for (let i = 0; i < times; i++) {
        const { limits: present } = world;
        const { limits: known } = world.gateways[at]!;
        const hasHeard = hasJustHeard[at];
        hasJustHeard[at] = false;
        let isAtOnce = true;
        world.gateways[at]!.ask(cost, ({ allowed, source, atMs, refund }) => {
          if (!allowed) return;
          if (source === 'lease') fromLeases++;
          if (source === 'lease' && known !== world.limits) spentUnheard += cost;
          // One that had to wait may be paid from a lease under the new numbers.
          if (source === 'lease' && hasHeard && isAtOnce) spentOfOld += cost;
          // What the store has decided by former numbers, because it knew no others, was right.
          passed.push({ atMs, cost, limits: source === 'store' ? known : present, refund, isRefunded: false });
        });
        isAtOnce = false;
      }
    },
    advance: ({ ms }) => (ms > 5000 ? world.leap(ms) : world.advance(ms)),
    refund({ oneIn }) {
      for (const [i, each] of passed.entries()) {
        if (i % oneIn > 0 || each.isRefunded || each.limits !== world.limits) continue;
        each.isRefunded = true;
        each.refund();
      }
    },
    passages: (event) => (world.passages = event.passages),
    // Never smaller: of a bucket that an edit makes smaller, tokens that are lent are more than it holds. Heard at once: until then a gateway goes by what held before.
    edit({ capacity, refillTokens }) {
      grown += capacity;
      world.edit(
        limits.map((limit) => ('capacity' in limit ? { ...limit, capacity: limit.capacity + grown, refillTokens } : limit)) as LimitSpec[],
      );
      for (const each of world.gateways) each.hear();
    },
    lower({ capacity, refillTokens, heardAfterMs }) {
      const before = lentBy(world);
      world.edit(world.limits.map((limit) => ({ ...limits[limit.id]!, capacity, refillTokens })) as LimitSpec[]);
      // Those who hear of it at once spend nothing more of it.
      if (heardAfterMs > 0) lentTooMany += Math.max(0, before - capacity);
      // By a gateway that has heard of it, so that the store knows.
      const edited = [...world.limits];
      const request = asking([{ key: 'k0', bucket: bucketOf(edited[0]!), cost: 1 }]);
      world.store.take(request, (outcome, atUs) => {
        if (outcome instanceof Error || !allPass(request, outcome)) return;
        passed.push({ atMs: [atUs / 1000], cost: 1, limits: edited, refund: () => {}, isRefunded: false });
      });
      for (const at of world.gateways.keys()) {
        if (heardAfterMs === 0) hears(at);
        else world.later(heardAfterMs, () => hears(at));
      }
    },
    die: ({ gateway: at }) => (world.gateways[at]!.isAlive = false),
    close: ({ gateway: at }) => void world.gateways[at]!.store.close(),
    wall: ({ gateway: at, byMs }) => (world.gateways[at]!.wallAheadMs += byMs),
    suspend({ gateway: at, ms }) {
      world.gateways[at]!.suspendedMs += ms;
      world.advance(ms);
    },
  };
  for (const event of happenings) (act[event.what] as (event: Event) => void)(event);
  return { fromLeases, lentTooMany, spentUnheard, spentOfOld, refused: limits.map((_, i) => refusedByPlainBucket(passed, i)) };
}

test('gateways that lease pass no more than plain buckets would', () => {
  let fromLeases = 0;
  fc.assert(
    fc.property(
      fc.array(specs, { minLength: 1, maxLength: 2 }),
      fc.array(events, { minLength: 10, maxLength: 80 }),
      (limits, happenings) => {
        const named = limits.map((limit, i) => ({ ...limit, name: `limit ${i}` }));
        const seen = play(named, happenings);
        fromLeases += seen.fromLeases;
        expect(seen.refused).toEqual(limits.map(() => 0));
      },
    ),
    runs(300),
  );
  expect(fromLeases).toBeGreaterThan(1000);
});

/** What gateways hold of the first bucket, as far as the store knows. */
function lentBy({ limits, store }: LeasingWorld): number {
  let lent = 0;
  const request = {
    key: 'k0',
    bucket: bucketOf(limits[0]!),
    lessee: 1000,
    sequence: 1,
    holds: 0,
    givesBack: 0,
    overspent: 0,
    wants: 0,
    forUs: 1,
  };
  store.lend(request, (outcome) => {
    if (outcome instanceof Error) throw outcome;
    lent = outcome.lentElsewhere;
  });
  return lent;
}

/** Gateways come to hold tokens, the bucket is made smaller, and they go on asking. */
const lowered = fc
  .tuple(
    fc.array(fc.oneof(asks, fc.record({ what: fc.constant('advance' as const), ms: fc.constantFrom(60, 130, 250) })), {
      minLength: 10,
      maxLength: 20,
    }),
    lowering,
    fc.array(fc.oneof({ weight: 3, arbitrary: asks }, { weight: 1, arbitrary: events }), { minLength: 5, maxLength: 20 }),
  )
  .map(([before, edit, after]) =>
    [...before, edit, ...after].map((event) => (event.what === 'ask' ? { ...event, cost: 1 as const } : event)),
  );

test('an edit that makes a bucket smaller lets pass no more than what was lent beyond the new capacity, and that only until it is heard of', () => {
  let overBy = 0;
  fc.assert(
    fc.property(fc.integer({ min: 20, max: 60 }), fc.array(lowered, { minLength: 1, maxLength: 3 }), (capacity, happenings) => {
      const seen = play([burst({ name: 'limit 0', capacity, refillTokens: capacity })], happenings.flat());
      expect(seen.refused[0]).toBeLessThanOrEqual(Math.min(seen.lentTooMany, seen.spentUnheard));
      expect(seen.spentOfOld).toBe(0);
      overBy += seen.refused[0]!;
    }),
    runs(200),
  );
  expect(overBy).toBeGreaterThan(50);
});
