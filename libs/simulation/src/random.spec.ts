import { hash32, seededRandom } from './random.js';

const first = (count: number, random: () => number): number[] => Array.from({ length: count }, random);

describe('seeded random numbers', () => {
  it('are the same for the same seed and stream, on every machine', () => {
    expect(first(3, seededRandom(1).next)).toEqual(FIRST_OF_SEED_1);
    expect(first(100, seededRandom(7, 'a').next)).toEqual(first(100, seededRandom(7, 'a').next));
  });

  it('differ between neighbouring seeds, and between streams', () => {
    expect(seededRandom(1).next()).not.toBe(seededRandom(2).next());
    expect(seededRandom(1, 'a').next()).not.toBe(seededRandom(1, 'b').next());
  });

  it('fill the range evenly', () => {
    const random = seededRandom(3);
    const counts = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for (let i = 0; i < 100_000; i++) counts[random.below(10)]!++;
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
  });

  it('have gaps of the mean that was asked for', () => {
    const random = seededRandom(4);
    const mean = first(100_000, () => random.exponential(20)).reduce((sum, gap) => sum + gap, 0) / 100_000;
    expect(Math.abs(mean - 20)).toBeLessThan(0.5);
  });

  it('come with a hash that spreads similar names over two nodes', () => {
    const odd = Array.from({ length: 1000 }, (_, i) => hash32(`merchant-${i}`) % 2).reduce((sum, bit) => sum + bit, 0);
    expect(Math.abs(odd - 500)).toBeLessThan(60);
  });
});

const FIRST_OF_SEED_1 = [0.03498816932551563, 0.6511658183299005, 0.27488994295708835];
