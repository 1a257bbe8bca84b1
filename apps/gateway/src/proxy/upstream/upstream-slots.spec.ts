import fc from 'fast-check';
import type { Criticality } from '#platform';
import { MerchantLoad } from '../sharing/merchant-load.js';
import { UpstreamPlaces } from './upstream-places.js';
import { type SlotSeeker, UpstreamSlots, type Waiter } from './upstream-slots.js';

const TIMEOUT_MS = 1000;

/** A request that takes a slot or waits for one, and remembers what became of it. */
class Request implements SlotSeeker {
  state: 'holds' | 'waits' | 'late' | 'gone' = 'waits';
  private readonly waiter: Waiter | undefined;

  constructor(
    private readonly slots: UpstreamSlots,
    readonly load: MerchantLoad,
    nowMs = 0,
    private readonly onTaken: (request: Request) => void = () => {},
  ) {
    if (slots.take(load)) this.state = 'holds';
    else this.waiter = slots.wait(load, this, nowMs);
  }

  slotTaken(): void {
    expect(this.state).toBe('waits');
    this.state = 'holds';
    this.onTaken(this);
  }

  slotTooLate(): void {
    expect(this.state).toBe('waits');
    this.state = 'late';
  }

  end(): void {
    const { state } = this;
    if (state !== 'holds' && state !== 'waits') return;
    this.state = 'gone';
    if (state === 'holds') this.slots.release(this.load);
    else this.slots.leave(this.waiter!);
  }
}

const states = (requests: Request[]): string => requests.map(({ state }) => state[0]).join('');

test('a merchant alone gets its share, and the others of its requests wait in order', () => {
  const slots = new UpstreamSlots(6, 0.5, TIMEOUT_MS);
  const acme = new MerchantLoad('acme');
  const requests = Array.from({ length: 5 }, () => new Request(slots, acme));
  // 6 free: the first; 5 free: the second, of at most 2.5; 4 free: no third, of at most 2.
  expect(states(requests)).toBe('hhwww');
  requests[0]!.end();
  expect(states(requests)).toBe('ghhww');
  requests[3]!.end();
  requests[1]!.end();
  expect(states(requests)).toBe('gghgh');
});

test('what one merchant holds for long does not keep another one waiting', () => {
  const slots = new UpstreamSlots(6, 0.5, TIMEOUT_MS);
  const slow = new MerchantLoad('slow');
  for (let i = 0; i < 100; i++) new Request(slots, slow);
  expect(states([new Request(slots, new MerchantLoad('other')), new Request(slots, new MerchantLoad('third'))])).toBe('hh');
  expect(slots.waiting).toBe(98);
});

test('a free slot goes to the merchant that holds the fewest, in turn among equals', () => {
  const slots = new UpstreamSlots(4, 100, TIMEOUT_MS);
  const [a, b, c] = ['a', 'b', 'c'].map((id) => new MerchantLoad(id)) as [MerchantLoad, MerchantLoad, MerchantLoad];
  const served: string[] = [];
  const held = [1, 2, 3, 4].map(() => new Request(slots, a));
  const note = ({ load }: Request): void => void served.push(load.key);
  for (const load of [a, a, b, b, b, c, c, c]) new Request(slots, load, 0, note);
  for (const request of held) request.end();
  // In the end a holds none any more.
  expect(served.join('')).toBe('bcba');
});

test('a request that waits for too long is told so, and those that came later go on waiting', () => {
  const slots = new UpstreamSlots(1, 1, TIMEOUT_MS);
  const requests = [0, 0, 500, 700].map((atMs, i) => new Request(slots, new MerchantLoad(`m${i % 2}`), atMs));
  slots.expire(999);
  expect(states(requests)).toBe('hwww');
  slots.expire(1500);
  expect(states(requests)).toBe('hllw');
  expect(slots.waiting).toBe(1);
  requests[0]!.end();
  expect(states(requests)).toBe('gllh');
});

test('a thousand requests that fail at once, one from within the other, need no stack', () => {
  const slots = new UpstreamSlots(1, 1, TIMEOUT_MS);
  const first = new Request(slots, new MerchantLoad('first'));
  const requests = Array.from(
    { length: 20_000 },
    (_, i) => new Request(slots, new MerchantLoad(`m${i % 7}`), 0, (request) => request.end()),
  );
  first.end();
  expect(requests.every(({ state }) => state === 'gone')).toBe(true);
  expect([slots.used, slots.waiting]).toEqual([0, 0]);
});

const command = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      merchant: fc.nat(5),
      fails: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(700) }) },
);

test('in any order of events no merchant exceeds its share, none waits while it may have a slot, and each is served in order', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.constantFrom(0.25, 0.5, 1, 3, 100),
      fc.array(command, { maxLength: 200 }),
      (capacity, share, commands) => {
        const slots = new UpstreamSlots(capacity, share, TIMEOUT_MS);
        const merchants = Array.from({ length: 6 }, (_, i) => new MerchantLoad(`m${i}`));
        const all: { request: Request; atMs: number }[] = [];
        let nowMs = 0;
        for (const each of commands) {
          if (each.do === 'ask') {
            const load = merchants[each.merchant]!;
            const [before, used] = [load.slots, slots.used];
            const request = new Request(slots, load, nowMs, (taken) => each.fails && taken.end());
            if (request.state === 'holds') expect(before === 0 || before + 1 <= share * (capacity - used)).toBe(true);
            all.push({ request, atMs: nowMs });
          } else if (each.do === 'end') {
            const open = all.filter(({ request: { state } }) => state === 'holds' || state === 'waits');
            open[each.which % Math.max(1, open.length)]?.request.end();
          } else {
            nowMs += each.ms;
            slots.expire(nowMs);
          }

          const holds = all.filter(({ request }) => request.state === 'holds');
          const waits = all.filter(({ request }) => request.state === 'waits');
          expect([slots.used, slots.waiting]).toEqual([holds.length, waits.length]);
          expect(slots.used).toBeLessThanOrEqual(capacity);
          const free = capacity - slots.used;
          for (const load of merchants) {
            const mine = all.filter(({ request }) => request.load === load);
            expect(load.slots).toBe(mine.filter(({ request }) => request.state === 'holds').length);
            const waiting = mine.filter(({ request }) => request.state === 'waits');
            if (waiting.length > 0) expect(free > 0 && (load.slots === 0 || load.slots + 1 <= share * free)).toBe(false);
            // Once one waits, all that came later have not been served.
            const firstWaiting = mine.findIndex(({ request }) => request.state === 'waits');
            if (firstWaiting >= 0) expect(mine.slice(firstWaiting).every(({ request }) => request.state !== 'holds')).toBe(true);
          }
          if (each.do === 'pass') for (const { atMs } of waits) expect(nowMs - atMs).toBeLessThan(TIMEOUT_MS);
        }
        for (const { request } of all) request.end();
        expect([slots.used, slots.waiting, ...merchants.map((load) => load.slots)]).toEqual(Array(8).fill(0));
      },
    ),
    { numRuns: 300 },
  );
});

describe('where overload is controlled', () => {
  const controlled = (slots: number, reserve = 0.2, share = 1000): UpstreamSlots =>
    new UpstreamSlots(slots, share, TIMEOUT_MS, new UpstreamPlaces({ adaptiveFrom: undefined, reserve }, slots, share));

  const taken = (slots: UpstreamSlots, load: MerchantLoad, criticality: Criticality, most = 100): number => {
    let count = 0;
    while (count < most && slots.take(load, criticality)) count++;
    return count;
  };

  /** Waits, and notes its name when it is served. */
  const waits = (slots: UpstreamSlots, load: MerchantLoad, criticality: Criticality, served: string[], name: string): void => {
    const seeker = { slotTaken: () => void served.push(name), slotTooLate: () => void served.push(`${name} late`) };
    slots.wait(load, seeker, 0, criticality);
  };

  it('sheddable requests leave two reserves, normal ones leave one, and critical ones take all', () => {
    const slots = controlled(10);
    const acme = new MerchantLoad('acme');
    expect(taken(slots, acme, 'sheddable')).toBe(6);
    expect(slots.isFullFor('sheddable')).toBe(true);
    expect(slots.isFullFor('normal')).toBe(false);
    expect(taken(slots, acme, 'normal')).toBe(2);
    expect(taken(slots, acme, 'critical')).toBe(2);
    expect(slots.used).toBe(10);
  });

  it('a merchant has no more than its share of the places, however critical its requests are', () => {
    const slots = controlled(90, 0.2, 0.5);
    expect(taken(slots, new MerchantLoad('acme'), 'critical')).toBe(30);
    expect(taken(slots, new MerchantLoad('other'), 'normal')).toBeGreaterThan(10);
  });

  it('a slot that comes free goes to a critical request first, though it came last', () => {
    const slots = controlled(2, 0);
    const [acme, other] = [new MerchantLoad('acme'), new MerchantLoad('other')];
    expect(taken(slots, acme, 'normal')).toBe(2);
    const served: string[] = [];
    waits(slots, acme, 'normal', served, 'first');
    waits(slots, other, 'normal', served, 'second');
    waits(slots, acme, 'critical', served, 'critical');
    for (let i = 0; i < 2; i++) {
      slots.awaitsNoMore(acme, 5);
      slots.release(acme);
    }
    expect(served).toEqual(['critical', 'second']);
  });

  it('a critical request overtakes those of its merchant that wait, and a normal one does not', () => {
    const slots = controlled(10);
    const acme = new MerchantLoad('acme');
    expect(taken(slots, acme, 'normal')).toBe(8);
    waits(slots, acme, 'normal', [], 'normal');
    expect(slots.take(acme, 'critical')).toBe(true);
    waits(slots, acme, 'critical', [], 'critical');
    expect(slots.take(acme, 'critical')).toBe(false);
  });

  it('an answer that has begun frees a place, while it still holds its slot', () => {
    const places = new UpstreamPlaces({ adaptiveFrom: 2, reserve: 0 }, 100, 1000);
    const slots = new UpstreamSlots(100, 1000, TIMEOUT_MS, places);
    const acme = new MerchantLoad('acme');
    let nowMs = 0;
    // Every request fails: the limit falls to its least.
    for (let i = 0; i < 5000; i++) {
      places.failed();
      slots.tick((nowMs += 10));
    }
    expect(slots.limit).toBe(2);
    expect(taken(slots, acme, 'normal')).toBe(2);
    const served: string[] = [];
    waits(slots, acme, 'normal', served, 'third');
    slots.awaitsNoMore(acme, 5);
    expect(served).toEqual(['third']);
    expect([slots.used, slots.inFlight]).toEqual([3, 2]);
  });

  it('requests that wait are served when the limit grows', () => {
    const places = new UpstreamPlaces({ adaptiveFrom: 2, reserve: 0 }, 100, 1000);
    const slots = new UpstreamSlots(100, 1000, 60_000, places);
    const acme = new MerchantLoad('acme');
    let nowMs = 0;
    const run = (each: () => void) => {
      for (let i = 0; i < 5000; i++) {
        each();
        slots.tick((nowMs += 10));
      }
    };
    run(() => places.failed());
    taken(slots, acme, 'normal');
    const served: string[] = [];
    slots.wait(acme, { slotTaken: () => void served.push('served'), slotTooLate: () => void served.push('late') }, nowMs);
    run(() => places.answered(20));
    expect(served).toEqual(['served']);
  });
});
