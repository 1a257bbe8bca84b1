import { describeBucketStore, describeGolden, FakeClock, takeFrom } from '../testing/index.js';
import { MemoryBucketStore } from './memory-bucket-store.js';
import { RememberingBucketStore } from './remembering-bucket-store.js';

/** The clock of this process while that of the store is set here and there: it only goes forward, and whoever sets the other takes a second. */
function unset(clock: FakeClock): () => number {
  let [elapsedMs, seenMs] = [0, clock.nowMs];
  return () => {
    elapsedMs += clock.nowMs < seenMs ? 1000 : clock.nowMs - seenMs;
    seenMs = clock.nowMs;
    return elapsedMs;
  };
}

function create() {
  const clock = new FakeClock();
  return { store: new RememberingBucketStore(new MemoryBucketStore(clock.now), unset(clock)), clock };
}

describeBucketStore('RememberingBucketStore', create);

describeGolden(() => {
  const { store, clock } = create();
  return async (limit, cost, atMs, spare) => {
    clock.nowMs = atMs;
    return (await takeFrom(store, [{ key: 'row', limit, cost }], spare))[0]!;
  };
});
