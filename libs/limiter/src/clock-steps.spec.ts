import { describeClockSteps, FakeClock, pureEngine, storeEngine } from '../testing/index.js';
import { MemoryBucketStore } from './stores/memory-bucket-store.js';

describe('the pure functions', () => describeClockSteps(pureEngine, 700));

describe('the store in memory', () => {
  const clock = new FakeClock();
  describeClockSteps(storeEngine(new MemoryBucketStore(clock.now), clock), 200);
});
