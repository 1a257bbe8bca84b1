import {
  allPass,
  bucketOf,
  bucketOfPenalty,
  clamped,
  decide,
  startState,
  takeAll,
  withheldOf,
  withholding,
  type Bucket,
  type BucketState,
  type BucketStore,
  type BucketTake,
  type Decision,
  type HeldState,
  type Limit,
  type Penalty,
  type PenaltyTake,
  type Receipt,
  type TakeRequest,
  type TokenBucketSpec,
} from '../src/index.js';

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

/** @param percent what has to be left of the bucket to others */
export const bucketTake = (key: string, limit: Limit, cost = 1, percent = 0): BucketTake => ({
  key,
  bucket: bucketLeaving(limit, percent),
  cost,
});

/** The bucket of a limit as those find it who have to leave a share of it to others. */
export const bucketLeaving = (limit: Limit, percent: number): Bucket => withholding(bucketOf(limit), withheldOf(limit, percent));

/** @param watches how many limits stand before it in the request */
export const penaltyTake = (key: string, penalty: Penalty, watches: number, cost = 1): PenaltyTake => ({
  key,
  bucket: bucketOfPenalty(penalty, watches),
  cost,
});

/** A request for these buckets; it holds no slots and there is no spare capacity, unless given. */
export const asking = (takes: readonly BucketTake[], { holder = 0, spare = false }: Partial<TakeRequest> = {}): TakeRequest => ({
  takes,
  holder,
  spare,
});

/** What a store has answered to a request. */
export type Answered = Receipt & TakeRequest;

/** The store's answer as a promise, with what it takes to give it back; rejects with the store's error. */
export function taken(store: BucketStore, takes: readonly BucketTake[], holder = 0, spare = false): Promise<Answered> {
  const request = asking(takes, { holder, spare });
  return new Promise((resolve, reject) =>
    store.take(request, (outcome, takenAtUs) =>
      outcome instanceof Error ? reject(outcome) : resolve({ ...request, levels: outcome, takenAtUs }),
    ),
  );
}

export const isAllowed = (answered: Answered): boolean => allPass(answered, answered.levels);

/** What each bucket has decided. */
export function decisions(request: TakeRequest, levels: Receipt['levels']): Decision[] {
  const taken = allPass(request, levels);
  return request.takes.map(({ bucket, cost }, i) => decide(bucket, levels[i]!, cost, taken, request.spare));
}

/** Takes from one or more buckets and says what each decided. */
export async function takeFrom(
  store: BucketStore,
  asked: readonly { key: string; limit: Limit; cost?: number; percent?: number }[],
  spare = false,
): Promise<Decision[]> {
  const takes = asked.map(({ key, limit, cost, percent }) => bucketTake(key, limit, cost, percent));
  const answered = await taken(store, takes, 0, spare);
  return decisions(answered, answered.levels);
}

/** Takes from one bucket that no store keeps. A missing state is that of a bucket left alone since its limit started. */
export function takeAlone(
  bucket: Bucket,
  stored: BucketState | undefined,
  cost: number,
  nowMs: number,
  options: Partial<TakeRequest> = {},
): { state: BucketState; decision: Decision } {
  const nowUs = Math.round(nowMs * 1000);
  const request = asking([{ key: '', bucket, cost }], options);
  const before = stored === undefined ? startState(bucket, nowUs) : clamped(bucket, stored, nowUs);
  const states: (HeldState | undefined)[] = [before];
  const levels = takeAll(request, states, nowUs);
  return { state: (states[0] as BucketState | undefined) ?? before, decision: decisions(request, levels)[0]! };
}
