import { SieveCache, type CacheEntry } from './sieve-cache.js';

const entry = (bytes = 1): CacheEntry => ({ used: false, bytes });

function filled(maxBytes: number, keys: Iterable<string>): SieveCache<CacheEntry> {
  const cache = new SieveCache<CacheEntry>(maxBytes);
  for (const key of keys) cache.set(key, entry());
  return cache;
}

test('the oldest of the unused entries is evicted first', () => {
  const cache = filled(3, 'abcd');
  expect([...cache.keys()]).toEqual(['b', 'c', 'd']);
});

test('entries in use stay, however many others are asked for once', () => {
  const cache = filled(
    100,
    Array.from({ length: 100 }, (_, i) => `known-${i}`),
  );
  for (let i = 0; i < 10_000; i++) {
    if (i % 10 === 0) for (let known = 0; known < 50; known++) expect(cache.get(`known-${known}`)).toBeDefined();
    cache.set(`once-${i}`, entry());
  }
  expect(cache.size).toBe(100);
});

test('the cache is bounded in bytes, also when entries are replaced, removed and grow', () => {
  const cache = filled(10, 'abc');
  cache.set('a', entry(5));
  expect(cache.bytes).toBe(7);
  cache.delete('b');
  cache.delete('b');
  expect(cache.bytes).toBe(6);
  cache.resize(cache.peek('c')!, 4);
  expect(cache.bytes).toBe(9);
  cache.set('d', entry(4));
  expect(cache.bytes).toBeLessThanOrEqual(10);
  expect([...cache].reduce((sum, [, { bytes }]) => sum + bytes, 0)).toBe(cache.bytes);
});

test('one entry is evicted where all are in use', () => {
  const cache = filled(3, 'abc');
  for (const key of 'abc') cache.get(key);
  cache.set('d', entry());
  expect(cache.size).toBe(3);
  expect(cache.peek('d')).toBeDefined();
});

test('an entry that is larger than the whole is held alone', () => {
  const cache = filled(3, 'abc');
  cache.set('large', entry(50));
  expect([...cache.keys()]).toEqual(['large']);
  cache.set('a', entry());
  expect([...cache.keys()]).toEqual(['a']);
});

test('an eviction costs the same however many have gone before', () => {
  const costOf = (evictions: number): number => {
    const cache = filled(
      20_000,
      Array.from({ length: 20_000 }, (_, i) => `a${i}`),
    );
    const began = process.cpuUsage();
    for (let i = 0; i < evictions; i++) cache.set(`b${i}`, entry());
    const { user, system } = process.cpuUsage(began);
    return (user + system) / evictions;
  };
  costOf(20_000);
  // An iterator that begins anew at each eviction would have to pass what has gone: thousands of times as long.
  expect(costOf(100_000)).toBeLessThan(50);
});
