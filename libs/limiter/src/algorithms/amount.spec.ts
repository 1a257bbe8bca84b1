import * as fc from 'fast-check';
import { runs } from '../../testing/properties/runs.js';
import { debtOfFraction, mulDiv, scaled, tokensOfDebt, type Amount } from './amount.js';
import { greatestCommonDivisor } from './exact-span.js';

/** Against fractions of whole numbers of any size. */

const upTo = (max: number) =>
  fc.oneof(fc.integer({ min: 0, max: Math.min(max, 20) }), fc.integer({ min: 0, max }), fc.integer({ min: Math.max(0, max - 20), max }));
const positive = (max: number) => upTo(max - 1).map((n) => n + 1);
const YEAR_US = 366 * 86_400_000_000;
const TEN_YEARS_US = 10 * YEAR_US;

/** whole + part / of, times `by`: as a whole number if `of` divides `by`. */
const times = ({ whole, part, of }: Amount, by: bigint): bigint => (BigInt(whole) * BigInt(of) + BigInt(part)) * (by / BigInt(of));
const isProper = ({ part, of }: Amount): boolean => Number.isInteger(part) && part >= 0 && part < of;

test('a product is divided exactly', () => {
  fc.assert(
    fc.property(upTo(2 ** 52), upTo(YEAR_US), positive(YEAR_US), (a, b, c) => {
      fc.pre((BigInt(a) * BigInt(b)) / BigInt(c) < 2n ** 53n);
      const { quotient, rest } = mulDiv(a, b, c);
      expect(BigInt(quotient)).toBe((BigInt(a) * BigInt(b)) / BigInt(c));
      expect(BigInt(rest)).toBe((BigInt(a) * BigInt(b)) % BigInt(c));
    }),
    runs(600),
  );
});

const rates = fc
  .tuple(positive(94_906_265), positive(YEAR_US))
  .filter(([n, intervalUs]) => n <= intervalUs)
  .map(([n, intervalUs]) => {
    const divisor = greatestCommonDivisor(n, intervalUs);
    return { n: n / divisor, intervalUs: intervalUs / divisor };
  });

test('a debt of time is so many tokens, to the last part, a surplus too', () => {
  fc.assert(
    fc.property(rates, upTo(TEN_YEARS_US), fc.boolean(), fc.nat(), (rate, debtUs, isSurplus, some) => {
      const part = some % rate.n;
      const debt = isSurplus ? -debtUs : debtUs;
      const tokens = tokensOfDebt(debt, part, rate);
      expect(isProper(tokens)).toBe(true);
      // tokens = (debt + part / n) * n / interval
      expect(times(tokens, BigInt(rate.intervalUs))).toBe(BigInt(debt) * BigInt(rate.n) + BigInt(part));
    }),
    runs(600),
  );
});

const fractions = positive(YEAR_US).chain((of) => fc.record({ of: fc.constant(of), part: upTo(of - 1) }));

test('a fraction of a token takes so long, rounded up to the n-th of a microsecond', () => {
  fc.assert(
    fc.property(rates, fractions, (rate, fraction) => {
      const parts = BigInt(debtOfFraction({ whole: 0, ...fraction }, rate));
      const exact = BigInt(fraction.part) * BigInt(rate.intervalUs);
      expect(parts * BigInt(fraction.of) >= exact).toBe(true);
      expect((parts - 1n) * BigInt(fraction.of) < exact).toBe(true);
    }),
    runs(600),
  );
});

test('a share of a capacity is the same share of another, rounded up by less than a part', () => {
  fc.assert(
    fc.property(positive(2_000_000_000), upTo(2_000_000_000), fractions, fc.nat(), (capacity, newCapacity, fraction, some) => {
      const missing: Amount = { whole: some % capacity, ...fraction };
      const share = scaled(missing, newCapacity, capacity);
      expect(isProper(share)).toBe(true);
      const exact = times(missing, BigInt(missing.of)) * BigInt(newCapacity);
      const found = times(share, BigInt(share.of)) * BigInt(capacity);
      expect(found >= exact).toBe(true);
      expect(found - exact < BigInt(capacity)).toBe(true);
    }),
    runs(600),
  );
});
