import type { BucketReading } from '#limiter';
import { ProblemError } from '#platform';
import { rule as ruleOf } from '../../../../test/support/factories/rules.js';
import { changedBuckets } from './bucket-views.js';
import type { NamedBucket } from './merchant-buckets.js';

const named = (id: string): NamedBucket => {
  const rule = ruleOf({ id });
  return { rule, source: 'merchant', limit: rule.limits[0]!, needs: [], key: `key of ${id}`, bucket: {} as NamedBucket['bucket'] };
};
const done = (remaining: number): PromiseSettledResult<BucketReading> => ({
  status: 'fulfilled',
  value: { limit: 10, remaining, resetAfterMs: 0, blockedForMs: 0 } as BucketReading,
});
const refused = (reason: unknown): PromiseSettledResult<BucketReading> => ({ status: 'rejected', reason });
const unavailable = new ProblemError({ status: 503, code: 'buckets.unavailable', detail: 'Redis is away' });

describe('what an operation has done to several buckets', () => {
  const three = [named('1'), named('2'), named('3')];

  it('is shown of each of them', () => {
    const { items, failed } = changedBuckets(three, [done(1), done(2), done(3)]);
    expect(items.map(({ ruleId, remaining }) => [ruleId, remaining])).toEqual([
      ['1', 1],
      ['2', 2],
      ['3', 3],
    ]);
    expect(failed).toEqual([]);
  });

  it('stays done where it failed with others, and those are named with their place and the reason', () => {
    const { items, failed } = changedBuckets(three, [done(1), refused(unavailable), done(3)]);
    expect(items.map(({ ruleId }) => ruleId)).toEqual(['1', '3']);
    const { name: limit } = three[1]!.limit;
    expect(failed).toEqual([{ index: 1, ruleId: '2', limit, code: 'buckets.unavailable', detail: 'Redis is away' }]);
  });

  it('is a problem if it failed with all of them', () => {
    expect(() => changedBuckets(three.slice(0, 2), [refused(unavailable), refused(unavailable)])).toThrow(unavailable);
  });

  it('is an error of ours if one failed with something that is no problem', () => {
    const bug = new TypeError('not a function');
    expect(() => changedBuckets(three, [done(1), refused(bug), done(3)])).toThrow(bug);
  });
});
