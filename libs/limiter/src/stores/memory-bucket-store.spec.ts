import {
  describeBucketStore,
  describeGolden,
  describeLeaseTraces,
  describeLender,
  describeLooks,
  FakeClock,
  startedLimit,
  takeFrom,
} from '../../testing/index.js';
import { bucketOf } from '../buckets/bucket.js';
import { MemoryBucketStore } from './memory-bucket-store.js';

function create() {
  const clock = new FakeClock();
  return { store: new MemoryBucketStore(clock.now), clock };
}

describeBucketStore('MemoryBucketStore', create);
describeLooks(create);
describeLender('MemoryBucketStore', create);
describeLeaseTraces(create);

describeGolden(() => {
  const { store, clock } = create();
  return async (limit, cost, atMs, spare, percent) => {
    clock.nowMs = atMs;
    return (await takeFrom(store, [{ key: 'row', limit, cost, percent }], spare))[0]!;
  };
});

test('a full store drops buckets that have filled up before others', async () => {
  const clock = new FakeClock();
  const store = new MemoryBucketStore(clock.now, 3);
  const limit = startedLimit(
    { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 1, refillIntervalMs: 1000, refill: 'greedy' },
    0,
  );
  await takeFrom(store, [{ key: 'spent', limit, cost: 10 }]);
  await takeFrom(store, [{ key: 'soon full', limit }]);
  await takeFrom(store, [{ key: 'other', limit, cost: 5 }]);
  clock.advance(1000);
  await takeFrom(store, [{ key: 'new', limit }]);
  expect(store.size).toBe(3);
  expect((await takeFrom(store, [{ key: 'spent', limit, cost: 0 }]))[0]!.remaining).toBe(1);
});

test('a full store drops no bucket that is blocked before others, and a block does not outlive its bucket', async () => {
  const clock = new FakeClock();
  const store = new MemoryBucketStore(clock.now, 2);
  const limit = startedLimit(
    { name: 'l', algorithm: 'token_bucket', capacity: 10, refillTokens: 1, refillIntervalMs: 1000, refill: 'greedy' },
    0,
  );
  const block = (key: string) => store.operate(key, bucketOf(limit), { kind: 'block', forMs: 60_000 });
  const isBlocked = async (key: string) => (await takeFrom(store, [{ key, limit, cost: 0 }]))[0]!.blocked === true;
  await block('full, and blocked');
  await takeFrom(store, [{ key: 'spent', limit, cost: 10 }]);
  await takeFrom(store, [{ key: 'new', limit }]);
  expect(await isBlocked('full, and blocked')).toBe(true);
  await block('second');
  // Both places are of blocked buckets: one has to go, and whoever gets its place is not blocked.
  await takeFrom(store, [{ key: 'newer', limit, cost: 3 }]);
  expect(store.size).toBe(2);
  expect((await takeFrom(store, [{ key: 'newer', limit, cost: 0 }]))[0]).toMatchObject({ allowed: true, remaining: 7 });
  expect(await isBlocked('second')).toBe(true);
});
