import { backOffMs, MAX_ATTEMPTS } from './back-off.js';

const ATTEMPTS = Array.from({ length: MAX_ATTEMPTS - 1 }, (_, i) => i + 1);

describe('backOffMs', () => {
  it('waits longer after each failure, up to eight hours', () => {
    expect(ATTEMPTS.map((attempts) => backOffMs(attempts, 0) / 1000)).toEqual([5, 20, 80, 320, 1_280, 5_120, 20_480, 28_800, 28_800]);
    expect(backOffMs(1_000_000, 0)).toBe(28_800_000);
  });

  it('waits by chance up to half of it less', () => {
    for (const attempts of ATTEMPTS) {
      const [most, least] = [backOffMs(attempts, 0), backOffMs(attempts, 0.999_999)];
      expect(least / most).toBeCloseTo(0.5);
    }
  });

  it('gives a receiver half a day at least, and a day at most', () => {
    const hours = (random: number) => ATTEMPTS.reduce((sum, attempts) => sum + backOffMs(attempts, random), 0) / 3_600_000;
    expect(hours(0.999_999)).toBeGreaterThan(11);
    expect(hours(0)).toBeLessThan(24);
  });
});
