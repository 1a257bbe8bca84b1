import type { BucketStore } from '../../src/index.js';
import type { FakeClock } from '../fake-clock.js';

export interface StoreUnderTest {
  store: BucketStore;
  clock: FakeClock;
}

/** Gives an empty store on a clock that stands at 0. */
export type CreateStore = () => Promise<StoreUnderTest> | StoreUnderTest;
