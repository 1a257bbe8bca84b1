import { escaped } from './buckets/bucket-key.js';
import { digestOf } from './digest.js';
import type { Retry, RetryPolicy } from './retry-policy.js';
import type { BucketTake, TakeRequest } from './buckets/take.js';

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
