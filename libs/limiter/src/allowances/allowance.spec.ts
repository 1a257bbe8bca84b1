import { Allowance } from './allowance.js';

/** At a moment, how often it is asked, and how often it says yes: three at once, two a second. */
const ROWS: [nowMs: number, asked: number, taken: number][] = [
  [0, 5, 3],
  [400, 1, 0],
  [500, 2, 1],
  [1_000, 2, 1],
  [60_000, 2, 2],
  // It was full for a minute: what it did not hold then is not made up for.
  [60_000, 5, 1],
  [60_500, 2, 1],
];

test('an allowance is so many at once, and so many a second for long', () => {
  const allowance = new Allowance(3, 2, 0);
  const taken = ROWS.map(([nowMs, asked]) => Array.from({ length: asked }, () => allowance.take(nowMs)).filter(Boolean).length);
  expect(taken).toEqual(ROWS.map(([, , expected]) => expected));
});

test('what is given back can be taken again, and never makes more than it holds', () => {
  const allowance = new Allowance(1, 1, 0);
  expect([allowance.take(0), allowance.allows(0)]).toEqual([true, false]);
  for (let i = 0; i < 3; i++) allowance.giveBack();
  expect([allowance.take(0), allowance.take(0)]).toEqual([true, false]);
});
