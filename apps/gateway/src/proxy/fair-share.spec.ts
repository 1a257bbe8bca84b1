import fc from 'fast-check';
import { FairShare } from './fair-share.js';

/** Takes one by one for each holder in turn until nobody may take any more; returns what each holds. */
function fill(share: FairShare, holders: number): number[] {
  const held = Array.from({ length: holders }, () => 0);
  for (let taken = true; taken; ) {
    taken = false;
    for (let i = 0; i < holders; i++) {
      if (!share.mayTake(held[i]!)) continue;
      held[i]! += 1;
      share.used++;
      taken = true;
    }
  }
  return held;
}

test.each([
  { holders: 1, share: 0.5, each: 85, free: 171 },
  { holders: 2, share: 0.5, each: 64, free: 128 },
  { holders: 20, share: 0.5, each: 11, free: 36 },
  { holders: 1, share: 1, each: 128, free: 128 },
  { holders: 20, share: 1, each: 12, free: 16 },
  { holders: 1, share: 100, each: 253, free: 3 },
])('of 256 places, $holders holders get $each at a share of $share', ({ holders, share, each, free }) => {
  const places = new FairShare(256, share);
  const held = fill(places, holders);
  expect(Math.min(...held)).toBeGreaterThanOrEqual(each - 1);
  expect(Math.max(...held)).toBeLessThanOrEqual(each + 1);
  expect(Math.abs(places.free - free)).toBeLessThanOrEqual(holders);
});

test('a holder of nothing gets the last place, and then nobody gets one', () => {
  const places = new FairShare(3, 0.5);
  places.used = 2;
  expect([places.mayTake(1), places.mayTake(0)]).toEqual([false, true]);
  places.used = 3;
  expect(places.mayTake(0)).toBe(false);
});

test('a holder of twice the weight may have twice as many', () => {
  const places = new FairShare(100, 0.1);
  expect([places.mayTake(9), places.mayTake(10), places.mayTake(19, 1, 2), places.mayTake(20, 1, 2)]).toEqual([true, false, true, false]);
});

test('no holder gets more than the most, however many are free', () => {
  const places = new FairShare(1000, 1, 5);
  expect([places.mayTake(4), places.mayTake(5), places.mayTake(0, 6)]).toEqual([true, false, false]);
});

test('n holders that take all they can leave capacity / (1 + n * share), as long as everybody has more than one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 10_000 }), fc.integer({ min: 1, max: 20 }), fc.constantFrom(0.25, 0.5, 1, 2), (capacity, holders, alpha) => {
      const places = new FairShare(capacity, alpha);
      fill(places, holders);
      expect(places.free).toBeGreaterThanOrEqual(Math.floor(capacity / (1 + holders * alpha)) - 1);
    }),
  );
});
