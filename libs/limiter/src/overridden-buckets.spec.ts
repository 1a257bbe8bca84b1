import { describeOverrides, FakeClock, storeEngine } from '../testing/index.js';
import { MemoryBucketStore } from './stores/memory-bucket-store.js';

const clock = new FakeClock();
describeOverrides(storeEngine(new MemoryBucketStore(clock.now), clock), 150);
