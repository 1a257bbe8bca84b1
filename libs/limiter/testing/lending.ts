import { bucketOf, type BucketLender, type LendOutcome, type LendRequest, type Lent, type Limit, type LimitSpec } from '../src/index.js';
import { startedLimit } from './arbitraries.js';
import type { OperableStore } from './contract/store-under-test.js';
import type { FakeClock } from './fake-clock.js';
import { bucketTake, isAllowed, taken, takeFrom } from './takes.js';

/** Lending from a store as tests like it. */

/** A store of buckets that lends tokens of them. */
export type LendingStore = OperableStore & BucketLender;

export interface LenderUnderTest {
  store: LendingStore;
  clock: FakeClock;
}

export type CreateLender = () => Promise<LenderUnderTest> | LenderUnderTest;

/** What a lessee says; what it leaves out is nothing, and a second. */
export type Word = Partial<Omit<LendRequest, 'bucket' | 'lessee'>> & { readonly limit: Limit; readonly lessee?: number };

/** A word about a lease as a store takes it. */
export function wordOf({ limit, ...word }: Word): LendRequest {
  return {
    key: 'k',
    lessee: 1,
    sequence: 1,
    holds: 0,
    givesBack: 0,
    overspent: 0,
    wants: 0,
    forUs: 1_000_000,
    ...word,
    bucket: bucketOf(limit),
  };
}

/** The store's answer as a promise; rejects with the store's error. */
export function lentBy(store: BucketLender, word: Word): Promise<Lent> {
  return new Promise((resolve, reject) =>
    store.lend(wordOf(word), (outcome: LendOutcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome))),
  );
}

/** The first minute of a day, everywhere that these tests look. */
export const START_MS = 90_000_000_000;

/** What tests of one bucket that is lent need: a store of `create` with its limit, and what is said to it. */
export function lendersOf(create: CreateLender) {
  return async (spec: LimitSpec, startMs = 0) => {
    const under = await create();
    under.clock.nowMs = START_MS;
    const limit = startedLimit(spec, startMs);
    return {
      ...under,
      limit,
      say: (word: Omit<Word, 'limit'>) => lentBy(under.store, { limit, ...word }),
      left: async () => (await takeFrom(under.store, [{ key: 'k', limit, cost: 0 }]))[0]!.remaining,
      takes: async (cost: number) => isAllowed(await taken(under.store, [bucketTake('k', limit, cost)])),
    };
  };
}
