import { describeBucketStore, describeGolden, FakeClock, startedLimit, takeFrom } from '../testing/index.js';
import { MemoryBucketStore } from './memory-bucket-store.js';

function create() {
  const clock = new FakeClock();
  return { store: new MemoryBucketStore(clock.now), clock };
}

describeBucketStore('MemoryBucketStore', create);

describeGolden(() => {
  const { store, clock } = create();
  return async (limit, cost, atMs, spare) => {
    clock.nowMs = atMs;
    return (await takeFrom(store, [{ key: 'row', limit, cost }], spare))[0]!;
  };
});

test('a full store drops buckets that have filled up before others', async () => {
  const clock = new FakeClock();
  const store = new MemoryBucketStore(clock.now, 3);
  const limit = startedLimit(
    { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 1, refillIntervalMs: 1000, refill: 'greedy' }, 0);
  await takeFrom(store, [{ key: 'spent', limit, cost: 10 }]);
  await takeFrom(store, [{ key: 'soon full', limit }]);
  await takeFrom(store, [{ key: 'other', limit, cost: 5 }]);
  clock.advance(1000);
  await takeFrom(store, [{ key: 'new', limit }]);
  expect(store.size).toBe(3);
  expect((await takeFrom(store, [{ key: 'spent', limit, cost: 0 }]))[0]!.remaining).toBe(1);
});
