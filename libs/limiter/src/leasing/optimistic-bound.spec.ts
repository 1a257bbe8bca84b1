import * as fc from 'fast-check';
import { burst, LeasingWorld, runs, type Passage } from '../../testing/index.js';

/**
 * How far optimistic gateways go beyond the limit: docs/algorithms.md. Gateways die, calls are late and get lost, the store is away for a while, machines stand
 * still.
 */

const GATEWAYS = 4;
/** A gateway tells what it has passed every 20 ms, and waits for an answer for 25. */
const FLUSH_MS = 20 + 25;

const passage: fc.Arbitrary<Passage> = fc.record({
  thereMs: fc.constantFrom(0, 0, 1, 5, 24, 400),
  backMs: fc.constantFrom(0, 0, 1, 5, 24, 400),
  loses: fc.constantFrom('nothing' as const, 'nothing' as const, 'nothing' as const, 'call' as const, 'answer' as const),
});
const gateway = fc.integer({ min: 0, max: GATEWAYS - 1 });
const events = fc.oneof(
  { weight: 12, arbitrary: fc.record({ what: fc.constant('ask' as const), gateway, times: fc.integer({ min: 1, max: 40 }) }) },
  { weight: 8, arbitrary: fc.record({ what: fc.constant('advance' as const), ms: fc.constantFrom(1, 7, 20, 45, 130, 500, 4000) }) },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('passages' as const), passages: fc.array(passage, { minLength: 1, maxLength: 6 }) }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('die' as const), gateway }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('suspend' as const), gateway, ms: fc.constantFrom(300, 2000) }) },
);
type Event = typeof events extends fc.Arbitrary<infer E> ? E : never;

/** What was passed at worst beyond the limit, and what was passed. */
function play(capacity: number, perSecond: number, happenings: readonly Event[]) {
  const world = new LeasingWorld([burst({ capacity, refillTokens: perSecond })], GATEWAYS, 'optimistic');
  const startMs = world.clock.nowMs;
  let [passed, beyond, mostOwed] = [0, 0, 0];
  for (const event of happenings) {
    if (event.what === 'ask') {
      for (let i = 0; i < event.times; i++) world.gateways[event.gateway]!.ask(1, ({ allowed }) => (passed += Number(allowed)));
    } else if (event.what === 'advance') {
      world.advance(event.ms);
    } else if (event.what === 'passages') {
      world.passages = event.passages;
    } else if (event.what === 'die') {
      world.gateways[event.gateway]!.isAlive = false;
    } else {
      world.gateways[event.gateway]!.suspendedMs += event.ms;
      world.advance(event.ms);
    }
    const seconds = (world.clock.nowMs - startMs) / 1000;
    beyond = Math.max(beyond, passed - (capacity + perSecond * seconds));
    for (const { store } of world.gateways) mostOwed = Math.max(mostOwed, store.owed);
  }
  return { passed, beyond, mostOwed };
}

test('whatever is late or lost, optimistic gateways pass no more beyond the limit than each has passed before it heard of the others', () => {
  let furthest = 0;
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 60 }),
      fc.array(events, { minLength: 10, maxLength: 80 }),
      (capacity, perSecond, happenings) => {
        const { beyond, mostOwed } = play(capacity, perSecond, happenings);
        // No gateway owes more than the bucket holds: so much it takes itself for empty.
        expect(mostOwed).toBeLessThanOrEqual(capacity);
        expect(beyond).toBeLessThanOrEqual(GATEWAYS * capacity);
        furthest = Math.max(furthest, beyond / capacity);
      },
    ),
    runs(200),
  );
  // It does happen.
  expect(furthest).toBeGreaterThan(1);
});

test('gateways that all ask all the time pass, beyond the limit, no more than the refill of one flush each, once they have heard of each other', () => {
  const [capacity, perSecond, seconds] = [50, 200, 20];
  const world = new LeasingWorld([burst({ capacity, refillTokens: perSecond })], GATEWAYS, 'optimistic');
  world.passages = [{ thereMs: 12, backMs: 12, loses: 'nothing' }];
  let passed = 0;
  let beyond = 0;
  for (let ms = 0; ms < seconds * 1000; ms += 5) {
    if (ms === 1000) passed = 0;
    for (const each of world.gateways) for (let i = 0; i < 3; i++) each.ask(1, ({ allowed }) => (passed += Number(allowed)));
    world.advance(5);
    if (ms >= 1000) beyond = Math.max(beyond, passed - (perSecond * (ms + 5 - 1000)) / 1000);
  }
  expect(beyond).toBeLessThanOrEqual((GATEWAYS * perSecond * FLUSH_MS) / 1000);
  expect(passed).toBeGreaterThan(0.95 * perSecond * (seconds - 1));
});
