import { TokenSketch } from './token-sketch.js';

const MIB = 2 ** 20;

test('what was taken of a key is counted together, and never too little', () => {
  const sketch = new TokenSketch(MIB, 1000);
  let tooLittle = 0;
  const expected = new Map<string, number>();
  for (let i = 0; i < 20_000; i++) {
    const key = `{m${i % 997}}1.1`;
    const tokens = (expected.get(key) ?? 0) + (i % 3);
    expected.set(key, tokens);
    if (sketch.count(key, i % 3, i / 100) < Math.min(255, tokens)) tooLittle++;
  }
  expect(tooLittle).toBe(0);
});

test('of a quarter of a million names that come once hardly any looks as if it had come four times', () => {
  const sketch = new TokenSketch(16 * MIB, 10_000);
  let often = 0;
  for (let i = 0; i < 250_000; i++) if (sketch.count(`{m1}1.1:${i.toString(36)}`, 1, 0) >= 4) often++;
  expect(often).toBeLessThan(5_000);
});

test('each period is counted by itself', () => {
  const sketch = new TokenSketch(MIB, 1000);
  expect([0, 1, 999, 1000, 5000, 5999].map((nowMs) => sketch.count('k', 1, nowMs))).toEqual([1, 2, 3, 1, 1, 2]);
});
