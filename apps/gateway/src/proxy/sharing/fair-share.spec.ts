import fc from 'fast-check';
import { FairShare } from './fair-share.js';

/** Takes one by one for each holder in turn until nobody may take any more; returns what each holds. */
function fill(share: FairShare, holders: number): number[] {
  const held = Array.from({ length: holders }, () => 0);
  for (let taken = true; taken;) {
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

// The numbers stand in docs/operations.md as well.
test.each([
  { holders: 1, share: 0.25, least: 51, most: 51, free: 205 },
  { holders: 20, share: 0.25, least: 10, most: 11, free: 43 },
  { holders: 1, share: 0.5, least: 85, most: 85, free: 171 },
  { holders: 20, share: 0.5, least: 11, most: 12, free: 23 },
  { holders: 1, share: 1, least: 128, most: 128, free: 128 },
  { holders: 20, share: 1, least: 12, most: 13, free: 12 },
  { holders: 1, share: 3, least: 192, most: 192, free: 64 },
  { holders: 20, share: 3, least: 12, most: 13, free: 4 },
])(
  'of 256 places, $holders holders get $least to $most each at a share of $share, and leave $free',
  ({ holders, share, least, most, free }) => {
    const places = new FairShare(256, share);
    const held = fill(places, holders);
    expect([Math.min(...held), Math.max(...held), places.free]).toEqual([least, most, free]);
  },
);

test('the last place goes to a holder of nothing, and then there is none', () => {
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
    fc.property(
      fc.integer({ min: 100, max: 10_000 }),
      fc.integer({ min: 1, max: 20 }),
      fc.constantFrom(0.25, 0.5, 1, 2),
      (capacity, holders, alpha) => {
        const places = new FairShare(capacity, alpha);
        fill(places, holders);
        expect(places.free).toBeGreaterThanOrEqual(Math.floor(capacity / (1 + holders * alpha)) - 1);
      },
    ),
  );
});
