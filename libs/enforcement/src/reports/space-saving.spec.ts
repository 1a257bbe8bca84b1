import fc from 'fast-check';
import { SpaceSaving } from './space-saving.js';

const counts = (stream: readonly (readonly [string, number])[]) => {
  const exact = new Map<string, number>();
  for (const [key, weight] of stream) exact.set(key, (exact.get(key) ?? 0) + weight);
  return exact;
};

test('keys that all have a place are counted exactly', () => {
  const sketch = new SpaceSaving<string>(2);
  for (const [key, weight] of [
    ['a', 1],
    ['b', 3],
    ['a', 4],
  ] as const)
    sketch.add(key, weight, () => `about ${key}`);
  expect(sketch.top()).toEqual([
    { key: 'a', what: 'about a', atLeast: 5, atMost: 5 },
    { key: 'b', what: 'about b', atLeast: 3, atMost: 3 },
  ]);
});

test('a new key takes the place and the count of the least frequent one', () => {
  const sketch = new SpaceSaving<null>(2);
  for (const [key, weight] of [
    ['a', 5],
    ['b', 3],
    ['c', 1],
  ] as const)
    sketch.add(key, weight, () => null);
  expect(sketch.top().map(({ key, atLeast, atMost }) => [key, atLeast, atMost])).toEqual([
    ['a', 5, 5],
    ['c', 1, 4],
  ]);
});

test('bounds hold of every stream: the true count lies between them, and whatever makes up more than a share of all is there', () => {
  const stream = fc.array(fc.tuple(fc.constantFrom(...'abcdefghijkl'), fc.integer({ min: 1, max: 5 })), { maxLength: 200 });
  fc.assert(
    fc.property(stream, fc.integer({ min: 1, max: 6 }), (all, size) => {
      const sketch = new SpaceSaving<null>(size);
      for (const [key, weight] of all) sketch.add(key, weight, () => null);
      const exact = counts(all);
      const found = sketch.top();
      const total = all.reduce((sum, [, weight]) => sum + weight, 0);
      expect(found.length).toBeLessThanOrEqual(size);
      for (const { key, atLeast, atMost } of found) {
        expect(exact.get(key)!).toBeGreaterThanOrEqual(atLeast);
        expect(exact.get(key)!).toBeLessThanOrEqual(atMost);
        expect(atMost - atLeast).toBeLessThanOrEqual(total / size);
      }
      const keys = new Set(found.map(({ key }) => key));
      for (const [key, count] of exact) if (count > total / size) expect(keys).toContain(key);
    }),
  );
});
