import type { BucketReading } from '#limiter';
import { ProblemError } from '#platform';
import type { BucketsChanged, BucketView, FailedBucket } from './bucket.dto.js';
import type { NamedBucket } from './merchant-buckets.js';

export function viewOf({ rule, source, limit, needs }: NamedBucket, reading: BucketReading | undefined): BucketView {
  return {
    ruleId: rule.id,
    rule: rule.name,
    source,
    limit: limit.name,
    key: rule.key,
    needs,
    capacity: reading?.limit ?? null,
    remaining: reading?.remaining ?? null,
    resetAfterMs: reading?.resetAfterMs ?? null,
    blockedForMs: reading?.blockedForMs ?? null,
  };
}

/** What was done to some of the buckets stays done, so the audit keeps it. @throws what the first one failed with, if it succeeded with none */
export function changedBuckets(chosen: readonly NamedBucket[], outcomes: readonly PromiseSettledResult<BucketReading>[]): BucketsChanged {
  const items: BucketView[] = [];
  const failed: FailedBucket[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    const named = chosen[index]!;
    if (outcome.status === 'fulfilled') items.push(viewOf(named, outcome.value));
    else failed.push({ index, ruleId: named.rule.id, limit: named.limit.name, ...whyNot(outcome.reason) });
  }
  const first = outcomes.find((outcome) => outcome.status === 'rejected');
  if (items.length === 0 && first !== undefined) throw first.reason;
  return { items, failed };
}

/** @throws what is no problem but an error of ours */
function whyNot(error: unknown): Pick<FailedBucket, 'code' | 'detail'> {
  if (!(error instanceof ProblemError)) throw error;
  return { code: error.code, detail: error.detail ?? error.title };
}
