import { allPass } from './buckets/take.js';
import { asking, bucketTake, burst, FakeClock, startedLimit } from '../testing/index.js';
import { MemoryBucketStore } from './stores/memory-bucket-store.js';
import { RememberingBucketStore } from './stores/remembering-bucket-store.js';
import { retryOf, takesOfRetry } from './retry.js';

const POLICY = { forMs: 1000, mostRetries: 1, mostRemembered: 1 };
const LIMIT = startedLimit(burst({ capacity: 1, refillTokens: 1, refillIntervalMs: 86_400_000 }), 0);
const TAKES = [bucketTake('{acme}1.0', LIMIT)];

test('the mark of a request is in the braces of its buckets, and another one for other buckets, merchants and keys', () => {
  const { mark, counter } = retryOf(TAKES, 'acme', 'k', POLICY);
  expect(mark).toMatch(/^\{acme\}:acme:[\w-]{24}$/);
  expect(counter).toBe('{acme}:acme:');
  const others = [
    retryOf(TAKES, 'acme', 'k2', POLICY),
    retryOf(TAKES, 'acm', 'k', POLICY),
    retryOf([...TAKES, bucketTake('{acme}2.0', LIMIT)], 'acme', 'k', POLICY),
    retryOf([bucketTake('{acme}1.0:x', LIMIT)], 'acme', 'k', POLICY),
  ];
  expect(new Set([mark, ...others.map((each) => each.mark)]).size).toBe(5);
  expect(retryOf(TAKES, 'acme', 'k', POLICY).mark).toBe(mark);
});

test('a retry takes nothing but slots', () => {
  const slots = startedLimit({ name: 'slots', algorithm: 'concurrency', limit: 3, slotTimeoutMs: 1000 }, 0);
  expect(takesOfRetry([bucketTake('a', LIMIT, 5), bucketTake('b', slots, 2)]).map(({ cost }) => cost)).toEqual([0, 2]);
});

test('where a refusal is remembered the store is asked about possible retries, and no more than twenty times a second', () => {
  const clock = new FakeClock();
  let calls = 0;
  const store = new MemoryBucketStore(clock.now);
  const counting = Object.assign(Object.create(store) as MemoryBucketStore, {
    take: (...args: Parameters<MemoryBucketStore['take']>) => {
      calls++;
      store.take(...args);
    },
  });
  const remembering = new RememberingBucketStore(counting, clock.now);
  const retry = retryOf(TAKES, 'acme', 'k', POLICY);
  const asked = (requests: number): number => {
    calls = 0;
    for (let i = 0; i < requests; i++) remembering.take({ ...asking(TAKES), retry }, () => {});
    return calls;
  };
  const passed: boolean[] = [];
  for (let i = 0; i < 2; i++) {
    remembering.take(asking(TAKES), (outcome) => passed.push(!(outcome instanceof Error) && allPass(asking(TAKES), outcome)));
  }
  expect(passed).toEqual([true, false]);
  expect(asked(100)).toBe(20);
  expect(asked(100)).toBe(0);
  clock.advance(900);
  expect(asked(100)).toBe(0);
  clock.advance(1100);
  expect(asked(100)).toBe(20);
});
