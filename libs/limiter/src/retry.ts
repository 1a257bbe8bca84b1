import { escaped } from './bucket-key.js';
import { digestOf } from './digest.js';
import type { BucketTake, TakeRequest } from './take.js';

/** How long and how often retries are not charged. */
export interface RetryPolicy {
  /** After the request that was charged. */
  readonly forMs: number;
  /** Retries of one request that are not charged; further ones are, as if they were new. */
  readonly mostRetries: number;
  /** Requests of one merchant that are remembered within that time; of further ones the retries are charged. */
  readonly mostRemembered: number;
}

/**
 * What became of a request whose retries may be known: it is a retry of one that was charged, so that it was asked as `takesOfRetry` says; or it was charged, and its
 * retries will be known.
 */
export type RetryState = 'retried' | 'marked';

/** By what a store knows retries of a request. */
export interface Retry extends RetryPolicy {
  /** Where it stands that such a request was charged. */
  readonly mark: string;
  /** Where the marks of the merchant are counted. */
  readonly counter: string;
}

/**
 * The names of a request's mark: the same for a retry that asks the same buckets, and for no other request. No name of a bucket begins like these: behind the
 * braces of one stand letters and digits, and a point.
 *
 * @param retryKey everything that has to be the same of a retry
 */
export function retryOf(takes: readonly BucketTake[], merchantId: string, retryKey: string, policy: RetryPolicy): Retry {
  const first = takes[0]!.key;
  // Keys of one call share what stands in braces.
  const head = `${first.slice(0, first.indexOf('}') + 1)}:${escaped(merchantId)}`;
  const asked = takes.map(({ key }) => key).join('\n');
  return { ...policy, mark: `${head}:${digestOf(`${asked}\n\n${retryKey}`)}`, counter: `${head}:` };
}

/** What a retry takes: nothing but the slots that it holds while it is under way. */
export function takesOfRetry(takes: readonly BucketTake[]): readonly BucketTake[] {
  return takes.map(({ key, bucket, cost }) => ({ key, bucket, cost: bucket.kind === 'concurrency' ? cost : 0 }));
}

/** A request as it was asked when it turned out to be a retry. */
export function asRetry<R extends TakeRequest>(request: R): R {
  return { ...request, takes: takesOfRetry(request.takes) };
}
