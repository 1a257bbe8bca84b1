import * as fc from 'fast-check';
import {
  allPass,
  capacityOf,
  decide,
  editLimits,
  MemoryBucketStore,
  startLimits,
  type BucketLevel,
  type Decision,
  type Limit,
  type TokenBucketSpec,
  type Verdict,
} from '#limiter';
import { anyLimitSpecs, arrivals, asking, bucketTake, FakeClock, startedLimit } from '#limiter/testing';
import { rateLimitHeaders, retryAfterHeader, type ShownLimit, violatedPolicies } from './rate-limit-headers.js';

function report(spec: Partial<TokenBucketSpec>, decision: Partial<Decision>, ruleId = '1'): ShownLimit {
  const [limit] = startLimits(
    [{ name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1000, refill: 'greedy', ...spec }],
    0,
  );
  return {
    ruleId,
    limit: limit!,
    decision: { allowed: true, limit: capacityOf(limit!), remaining: 9, retryAfterMs: 0, resetAfterMs: 200, ...decision },
  };
}

test.each([
  // 100 a minute: the draft's mapping, q = capacity, w = ceil(capacity / rate), t = seconds to the next token.
  [
    { capacity: 100, refillTokens: 100, refillIntervalMs: 60_000 },
    { remaining: 50, resetAfterMs: 30_000 },
    '"burst";q=100;w=60',
    '"burst";r=50;t=1',
  ],
  [
    { capacity: 10, refillTokens: 1, refillIntervalMs: 60_000 },
    { remaining: 0, resetAfterMs: 590_000 },
    '"burst";q=10;w=600',
    '"burst";r=0;t=50',
  ],
  [{}, { remaining: 10, resetAfterMs: 0 }, '"burst";q=10;w=2', '"burst";r=10'],
  // In steps of 3 a minute, 15 s before the next one.
  [
    { capacity: 9, refillTokens: 3, refillIntervalMs: 60_000, refill: 'interval' as const },
    { remaining: 2, resetAfterMs: 135_000 },
    '"burst";q=9;w=180',
    '"burst";r=2;t=15',
  ],
  // At each midnight, six hours before the next one; the days after it are not all of one length.
  [
    { capacity: 200, refillTokens: 50, refill: 'interval' as const, calendar: 'day' as const, refillIntervalMs: undefined as never },
    { remaining: 20, resetAfterMs: 277_200_000, nextStepMs: 21_600_000 },
    '"burst";q=200;w=345600',
    '"burst";r=20;t=21600',
  ],
  // For nobody: the window is never 0, and no time is promised after which there would be more.
  [{ capacity: 0 }, { allowed: false, remaining: 0, retryAfterMs: 'never' as const, resetAfterMs: 0 }, '"burst";q=0;w=1', '"burst";r=0'],
  [
    { capacity: 0, refillTokens: 1, refillIntervalMs: 86_400_000 },
    { allowed: false, remaining: 0, retryAfterMs: 'never' as const, resetAfterMs: 0 },
    '"burst";q=0;w=86400',
    '"burst";r=0',
  ],
  // Blocked for an hour, which is longer than the bucket needs for a token.
  [
    {},
    { allowed: false, remaining: 0, retryAfterMs: 3_600_000, resetAfterMs: 3_600_000, blocked: true as const },
    '"burst";q=10;w=2',
    '"burst";r=0;t=3600',
  ],
  [{ capacity: 1, refillTokens: 1000, refillIntervalMs: 1000 }, { remaining: 0, resetAfterMs: 1 }, '"burst";q=1;w=1', '"burst";r=0;t=1'],
])('%j with %j', (spec, decision, policy, state) => {
  expect(rateLimitHeaders([report(spec, decision)])).toEqual(['RateLimit-Policy', policy, 'RateLimit', state]);
});

test('limits of one name are told apart by their rule', () => {
  const headers = rateLimitHeaders([report({}, {}, '7'), report({}, {}, '8'), report({ name: 'daily' }, {}, '8')]);
  expect(headers[3]).toBe('"burst-7";r=9;t=1, "burst-8";r=9;t=1, "daily";r=9;t=1');
});

test('headers and violated policies name limits in the order of the verdict', () => {
  const refused = { allowed: false, remaining: 0 };
  const limits = [report({ name: 'z' }, refused, '9'), report({ name: 'm' }, {}, '8'), report({ name: 'a' }, refused, '7')];
  const namesIn = (list: string | undefined) => [...(list ?? '').matchAll(/"([^"]*)"/g)].map(([, name]) => name);
  const [, policies, , states] = rateLimitHeaders(limits);
  expect(namesIn(policies)).toEqual(['z', 'm', 'a']);
  expect(namesIn(states)).toEqual(['z', 'm', 'a']);
  expect(violatedPolicies({ limits } as unknown as Verdict)).toEqual(['z', 'a']);
  const over = rateLimitHeaders(limits.map(({ decision, ...rest }) => ({ ...rest, decision: { ...decision, overLimit: true } })));
  expect(namesIn(over[5])).toEqual(['z', 'm', 'a']);
});

test('a verdict without limits has no headers', () => expect(rateLimitHeaders([])).toEqual([]));

test.each([
  [1, ['Retry-After', '1']],
  [1000, ['Retry-After', '1']],
  [1001, ['Retry-After', '2']],
  ['never' as const, []],
])('Retry-After after %s ms', (ms, header) => expect(retryAfterHeader(ms)).toEqual(header));

test('no header is negative or not a number, whatever the limit, its edits and the clock', () => {
  const specs = fc.tuple(anyLimitSpecs(), anyLimitSpecs());
  const cases = specs.chain(([spec, edited]) =>
    fc.tuple(fc.constant({ spec, edited }), arrivals(spec, { maxLength: 12, stepsBack: true }), fc.nat({ max: 12 })),
  );
  let written = 0;
  fc.assert(
    fc.property(cases, ([{ spec, edited }, requests, editAt]) => {
      let nowUs = 1_763_000_000_000_000;
      let limit = startedLimit(spec, nowUs / 1000);
      const engine = bucketUnder(() => limit);
      for (const [i, { gapUs, cost }] of requests.entries()) {
        nowUs += gapUs;
        if (i === editAt) limit = editLimits([limit], [edited], Math.floor(nowUs / 1000))[0]!;
        const [, policy, , state] = rateLimitHeaders([{ ruleId: '1', limit, decision: engine(cost, nowUs) }]);
        expect(policy).toMatch(/^"random";q=\d+;(w=[1-9]\d*|qu="concurrent-requests")$/);
        expect(state).toMatch(/^"random";r=\d+(;t=[1-9]\d*)?$/);
        written++;
      }
    }),
    { numRuns: 1000 },
  );
  expect(written).toBeGreaterThan(1000);
});

/** A bucket in memory, under limits that change. */
function bucketUnder(limit: () => Limit): (cost: number, nowUs: number) => Decision {
  const clock = new FakeClock();
  const store = new MemoryBucketStore(clock.now);
  let holder = 0;
  return (cost, nowUs) => {
    clock.nowMs = nowUs / 1000;
    const take = bucketTake('k', limit(), cost);
    let decision: Decision | undefined;
    const request = asking([take], { holder: ++holder });
    store.take(request, (outcome) => {
      const levels = outcome as readonly BucketLevel[];
      decision = decide(take.bucket, levels[0]!, cost, allPass(request, levels));
    });
    return decision!;
  };
}
