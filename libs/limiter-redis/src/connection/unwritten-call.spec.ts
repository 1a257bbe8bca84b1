import { StoreUnavailableError, type BucketLevel, type BucketTake } from '#limiter';
import { bucketTake, penaltyTake, startedLimit } from '#limiter/testing';
import { UnwrittenCall } from './unwritten-call.js';

const limit = startedLimit(
  { name: 'l', algorithm: 'token_bucket', capacity: 2, refillTokens: 1, refillIntervalMs: 1000, refill: 'greedy' },
  0,
);
const soft = startedLimit(
  { name: 's', algorithm: 'token_bucket', capacity: 2, refillTokens: 1, refillIntervalMs: 1000, refill: 'greedy', throttle: 'elastic' },
  0,
);

/** What a bucket of two tokens, one a second, held: 2, 1 or 0. */
const held = (tokens: number): BucketLevel => ({ debtUs: (2 - tokens) * 1e6, part: 0 });
const take = (key: string, cost = 1): BucketTake => bucketTake(key, limit, cost);
const request = (takes: readonly BucketTake[], ...levels: BucketLevel[]) => ({ takes, levels });

function outcomes(requests: { takes: readonly BucketTake[]; levels: BucketLevel[] }[], spare = false): string[] {
  const call = new UnwrittenCall();
  return requests.map(({ takes, levels }) =>
    call.outcome({ takes, spare }, levels) instanceof StoreUnavailableError ? 'failed' : 'answered',
  );
}

test.each([
  ['a request that would have passed has failed', [request([take('a')], held(1))], ['failed']],
  ['a refusal stands', [request([take('a')], held(0)), request([take('a')], held(0))], ['answered', 'answered']],
  [
    'a refusal that rests on a take of the same call has failed',
    [request([take('a')], held(1)), request([take('a')], held(0))],
    ['failed', 'failed'],
  ],
  ['a refusal by another bucket stands', [request([take('a')], held(1)), request([take('b')], held(0))], ['failed', 'answered']],
  ['one of several buckets is enough to refuse', [request([take('a'), take('b')], held(2), held(0))], ['answered']],
  [
    'a refused request supposes nothing',
    [request([take('a'), take('b')], held(1), held(0)), request([take('a', 2)], held(1))],
    ['answered', 'answered'],
  ],
  ['a look is answered', [request([take('a', 0)], held(1))], ['answered']],
  [
    'a look at a bucket that was supposed to be taken from has failed',
    [request([take('a')], held(1)), request([take('a', 0)], held(0))],
    ['failed', 'failed'],
  ],
])('%s', (_claim, requests, expected) => {
  expect(outcomes(requests)).toEqual(expected);
});

test('a refusal that no penalty has counted blocks nobody', () => {
  const penalized = [take('a'), penaltyTake('p', { refusals: 1, windowMs: 1000, blockMs: 9000 }, 1)];
  const blocked: BucketLevel = { blockedUs: 9e6, refusals: 0 };
  const first = request(penalized, held(0), { blockedUs: 0, refusals: 0 });
  // Other rules may share the penalty's bucket, with room in their own.
  const second = request([take('b'), penalized[1]!], held(2), blocked);
  expect(outcomes([first, second])).toEqual(['answered', 'failed']);
  expect(outcomes([second])).toEqual(['answered']);
});

test('an elastic limit with spare capacity does not refuse', () => {
  const empty = request([bucketTake('a', soft)], held(0));
  expect(outcomes([empty], true)).toEqual(['failed']);
  expect(outcomes([empty], false)).toEqual(['answered']);
});
