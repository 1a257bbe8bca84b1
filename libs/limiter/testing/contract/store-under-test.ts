import type { BucketOperator, BucketStore } from '../../src/index.js';
import type { FakeClock } from '../fake-clock.js';

/** Every store of buckets can be taken from and operated on. */
export type OperableStore = BucketStore & BucketOperator;

export interface StoreUnderTest {
  store: OperableStore;
  clock: FakeClock;
}

/** Gives an empty store on a clock that stands at 0. */
export type CreateStore = () => Promise<StoreUnderTest> | StoreUnderTest;
