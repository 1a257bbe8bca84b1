import {
  bucketOf,
  MemoryBucketStore,
  merchantRules,
  RateLimiter,
  startLimits,
  StoreUnavailableError,
  type BucketStore,
  type Rule,
  type Verdict,
} from '#limiter';
import { FakeClock } from '#limiter/testing';
import { refusalOf } from './refusals.js';

test('a request that costs more than its share of a limit is told that this is temporary', () => {
  const limits = startLimits(
    [{ name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1000, refill: 'greedy' }],
    0,
  );
  const rule: Rule = {
    id: '1',
    name: 'r',
    layer: 'merchant',
    priority: 1,
    enabled: true,
    mode: 'enforce',
    match: { methods: [], paths: [] },
    key: ['merchant'],
    limits,
    cost: 3,
    onStoreFailure: 'local',
  };
  const away: BucketStore = { take: (_takes, answer) => answer(new StoreUnavailableError('gone'), 0), release: () => {}, refund: () => {} };
  let verdict: Verdict | undefined;
  new RateLimiter(away, new MemoryBucketStore(() => 0), { gateways: () => 4 }).check(
    merchantRules('acme', [rule], []),
    { merchantId: 'acme', ip: '', method: 'GET', target: '/' },
    (outcome) => (verdict = outcome as Verdict),
  );
  const { status, headers, body } = refusalOf(verdict!, 'id');
  expect([status, headers]).toEqual([503, ['Retry-After', '1']]);
  expect(JSON.parse(String(body)).detail).toContain('costs more than the share');
});

test('a refusal by an operator\'s block says so, and how long it lasts', async () => {
  const store = new MemoryBucketStore(() => 0);
  const limits = startLimits(
    [{ name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1000, refill: 'greedy' }],
    0,
  );
  const rule: Rule = {
    id: '1',
    name: 'r',
    layer: 'merchant',
    priority: 1,
    enabled: true,
    mode: 'enforce',
    match: { methods: [], paths: [] },
    key: ['merchant'],
    limits,
    cost: 1,
    onStoreFailure: 'closed',
  };
  await store.operate('{acme}1.0', bucketOf(limits[0]!), { kind: 'block', forMs: 90_000 });
  const verdict = await new Promise<Verdict>((resolve) =>
    new RateLimiter(store, store).check(
      merchantRules('acme', [rule], []),
      { merchantId: 'acme', ip: '', method: 'GET', target: '/' },
      (outcome) => resolve(outcome as Verdict),
    ),
  );
  const { status, headers, body } = refusalOf(verdict, 'id');
  expect(status).toBe(429);
  expect(JSON.parse(String(body))).toMatchObject({ detail: 'Blocked by an operator. Try again in 90 s.', 'violated-policies': ['burst'] });
  expect(headers).toEqual(['RateLimit-Policy', '"burst";q=10;w=2', 'RateLimit', '"burst";r=0;t=90', 'Retry-After', '90']);
});

test('a repeated refusal has an id of its own, and is true at its time', () => {
  const clock = new FakeClock();
  const limits = startLimits(
    [{ name: 'burst', algorithm: 'token_bucket', capacity: 2, refillTokens: 1, refillIntervalMs: 10_000, refill: 'greedy' }],
    0,
  );
  const rule: Rule = {
    id: '1',
    name: 'r',
    layer: 'merchant',
    priority: 1,
    enabled: true,
    mode: 'enforce',
    match: { methods: [], paths: [] },
    key: ['merchant'],
    limits,
    cost: 2,
    onStoreFailure: 'closed',
    penalty: { refusals: 4, windowMs: 60_000, blockMs: 60_000 },
  };
  const store = new MemoryBucketStore(clock.now);
  const limiter = new RateLimiter(store, store);
  const rules = merchantRules('acme', [rule], []);
  const ask = (id: string) => {
    let verdict: Verdict | undefined;
    limiter.check(rules, { merchantId: 'acme', ip: '', method: 'GET', target: '/' }, (outcome) => (verdict = outcome as Verdict));
    const { headers, body } = refusalOf(verdict!, id);
    const { detail, requestId, status } = JSON.parse(body) as Record<string, unknown>;
    return [headers[3], headers[5], detail, requestId, status];
  };
  ask('none');
  expect(ask('first')).toEqual(['"burst";r=0;t=10', '20', 'Too many requests: burst. Try again in 20 s.', 'first', 429]);
  clock.advance(500);
  expect(ask('the-second')).toEqual(['"burst";r=0;t=10', '20', 'Too many requests: burst. Try again in 20 s.', 'the-second', 429]);
  clock.advance(10_000);
  expect(ask('3')).toEqual(['"burst";r=1;t=10', '10', 'Too many requests: burst. Try again in 10 s.', '3', 429]);
  expect(ask('4')).toEqual([
    '"burst";r=1;t=10',
    '60',
    'Too many requests: burst. That was refused too often: everything is blocked now. Try again in 60 s.',
    '4',
    429,
  ]);
  expect(ask('5')).toEqual(['"burst";r=1;t=10', '60', 'Blocked, because too many requests were refused. Try again in 60 s.', '5', 429]);
});
