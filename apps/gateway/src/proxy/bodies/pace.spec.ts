import fc from 'fast-check';
import { Pace } from './pace.js';

test.each([
  { what: 'is silent from the start', rate: 100, steps: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], endsAt: 11 },
  { what: 'keeps the least rate', rate: 100, steps: Array<number>(50).fill(100), endsAt: null },
  { what: 'sends half of the least rate', rate: 100, steps: Array<number>(50).fill(50), endsAt: 21 },
  { what: 'sends much and then nothing', rate: 100, steps: [1_000_000, ...Array<number>(20).fill(0)], endsAt: 12 },
  {
    what: 'sends a byte every five seconds, without a least rate',
    rate: 0,
    steps: Array.from({ length: 60 }, (_, i) => Number(i % 5 === 0)),
    endsAt: null,
  },
  { what: 'sends nothing, without a least rate', rate: 0, steps: Array<number>(20).fill(0), endsAt: 11 },
])('a body that $what, with a grace of 10 s', ({ rate, steps, endsAt }) => {
  const pace = new Pace(10_000, rate, 0);
  let bytes = 0;
  const slow = steps.findIndex((step) => pace.tooSlow((bytes += step), 1000));
  expect(slow < 0 ? null : slow + 1).toBe(endsAt);
});

test('time in which nobody waits for bytes does not count', () => {
  const pace = new Pace(1000, 100, 0);
  for (let i = 0; i < 100; i++) expect(pace.tooSlow(0, 0)).toBe(false);
  expect(pace.tooSlow(0, 1001)).toBe(true);
});

test('a body at the least rate or above is never too slow, in whatever steps, as long as none exceeds the grace', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 1, max: 5000 }), fc.nat(10_000)), { maxLength: 50 }), (steps) => {
      const pace = new Pace(5000, 1000, 0);
      let bytes = 0;
      for (const [elapsedMs, more] of steps) expect(pace.tooSlow((bytes += elapsedMs + more), elapsedMs)).toBe(false);
    }),
  );
});

test('a body below the least rate is too slow after grace / (1 - rate / least rate) at the latest', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 90 }), (percent) => {
      const pace = new Pace(5000, 1000, 0);
      let steps = 1;
      for (let bytes = 0; !pace.tooSlow((bytes += percent), 100);) steps++;
      expect(steps * 100).toBeLessThanOrEqual(5000 / (1 - percent / 100) + 200);
    }),
  );
});
