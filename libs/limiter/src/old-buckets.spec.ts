import { describeOldBuckets, FakeClock, storeEngine } from '../testing/index.js';
import { MemoryBucketStore } from './stores/memory-bucket-store.js';

const clock = new FakeClock();
describeOldBuckets(storeEngine(new MemoryBucketStore(clock.now), clock), 500);
