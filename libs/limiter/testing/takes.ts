import { allPass, bucketOf, bucketOfPenalty, decide } from '../src/index.js';
import type { BucketStore, BucketTake, Decision, Limit, Penalty, Receipt, TokenBucketSpec } from '../src/index.js';

/** Taking from a store as tests like it. */

/** Ten at once, five a second. */
export const burst = (numbers: Partial<TokenBucketSpec> = {}): TokenBucketSpec => ({
  name: 'burst',
  algorithm: 'token_bucket',
  capacity: 10,
  refillTokens: 5,
  refillIntervalMs: 1000,
  refill: 'greedy',
  ...numbers,
});

export const bucketTake = (key: string, limit: Limit, cost = 1): BucketTake => ({ key, bucket: bucketOf(limit), cost, memo: undefined });

/** @param watches how many limits stand before it in the request */
export const penaltyTake = (key: string, penalty: Penalty, watches: number, cost = 1): BucketTake => ({
  key,
  bucket: bucketOfPenalty(penalty, watches),
  cost,
  memo: undefined,
});

/** The store's answer as a promise, with what it takes to give it back; rejects with the store's error. */
export function taken(store: BucketStore, takes: readonly BucketTake[], slot = 0, spare = false): Promise<Receipt> {
  return new Promise((resolve, reject) =>
    store.take(
      takes,
      (outcome, takenAtUs) => (outcome instanceof Error ? reject(outcome) : resolve({ takes, levels: outcome, takenAtUs, slot })),
      slot,
      spare,
    ),
  );
}

export const isAllowed = ({ takes, levels }: Receipt, spare = false): boolean => allPass(takes, levels, spare);

/** Takes from one or more buckets and says what each decided. */
export async function takeFrom(
  store: BucketStore,
  asked: readonly { key: string; limit: Limit; cost?: number }[],
  spare = false,
): Promise<Decision[]> {
  const takes = asked.map(({ key, limit, cost = 1 }) => bucketTake(key, limit, cost));
  const receipt = await taken(store, takes, 0, spare);
  return takes.map((take, i) => decide(take.bucket, receipt.levels[i]!, take.cost, isAllowed(receipt, spare), spare));
}
