import { bucketOf, MemoryBucketStore, merchantRules, RateLimiter, StoreUnavailableError, type BucketStore, type Verdict } from '#limiter';
import { FakeClock, ruleOf } from '#limiter/testing';
import { headersIn } from './legacy-headers.js';
import { refusalOf } from './refusals.js';

test('a request that costs more than its share of a limit is told that this is temporary', () => {
  const rule = ruleOf('1', { cost: 3 });
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

test("a refusal by an operator's block says so, and how long it lasts", async () => {
  const store = new MemoryBucketStore(() => 0);
  const rule = ruleOf('1', { refillIntervalMs: 200, onStoreFailure: 'closed' });
  await store.operate('{acme}1.0', bucketOf(rule.limits[0]!), { kind: 'block', forMs: 90_000 });
  const verdict = await new Promise<Verdict>((resolve) =>
    new RateLimiter(store, store).check(
      merchantRules('acme', [rule], []),
      { merchantId: 'acme', ip: '', method: 'GET', target: '/' },
      (outcome) => resolve(outcome as Verdict),
    ),
  );
  const { status, headers, body } = refusalOf(verdict, 'id');
  expect(status).toBe(429);
  expect(JSON.parse(String(body))).toMatchObject({
    type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
    code: 'quota.blocked_by_operator',
    detail: 'Blocked by an operator. Try again in 90 s.',
    'violated-policies': ['burst'],
    rule: '1',
    ruleName: 'rule 1',
  });
  expect(headers).toEqual(['RateLimit-Policy', '"burst";q=10;w=2', 'RateLimit', '"burst";r=0;t=90', 'Retry-After', '90']);
});

test('a repeated refusal has an id of its own, and is true at its time', () => {
  const clock = new FakeClock();
  const rule = ruleOf('1', {
    capacity: 2,
    refillIntervalMs: 10_000,
    cost: 2,
    onStoreFailure: 'closed',
    penalty: { refusals: 4, windowMs: 60_000, blockMs: 60_000 },
  });
  const store = new MemoryBucketStore(clock.now);
  const limiter = new RateLimiter(store, store);
  const rules = merchantRules('acme', [rule], []);
  const codes: string[] = [];
  const ask = (id: string) => {
    let verdict: Verdict | undefined;
    limiter.check(rules, { merchantId: 'acme', ip: '', method: 'GET', target: '/' }, (outcome) => (verdict = outcome as Verdict));
    const { headers, body } = refusalOf(verdict!, id);
    const { code, detail, requestId, rule: ruleId, ruleName, status } = JSON.parse(body) as Record<string, unknown>;
    if (!verdict!.allowed) expect([ruleId, ruleName]).toEqual(['1', 'rule 1']);
    codes.push(String(code));
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
  expect(codes.slice(-2)).toEqual(['quota.exceeded', 'quota.blocked_by_penalty']);
});

test('a refusal says that a part of the limit is reserved for other routes, and only to those who have to leave it', () => {
  const rule = ruleOf('1', { capacity: 2, reserve: [{ name: 'captures', paths: ['/captures'], percent: 50 }] });
  const store = new MemoryBucketStore(() => 1_000_000);
  const limiter = new RateLimiter(store, store);
  const rules = merchantRules('acme', [rule], []);
  const ask = (target: string): unknown => {
    let verdict: Verdict | undefined;
    limiter.check(rules, { merchantId: 'acme', ip: '', method: 'GET', target }, (outcome) => (verdict = outcome as Verdict));
    return verdict!.allowed ? 'passes' : (JSON.parse(refusalOf(verdict!, 'id').body!) as { detail: string }).detail;
  };
  expect([ask('/'), ask('/'), ask('/captures'), ask('/captures'), ask('/')]).toEqual([
    'passes',
    'Too many requests: burst. A part of the limit is reserved for other routes. Try again in 1 s.',
    'passes',
    'Too many requests: burst. Try again in 1 s.',
    'Too many requests: burst. A part of the limit is reserved for other routes. Try again in 2 s.',
  ]);
});

test('other headers are written anew with each refusal', () => {
  const rule = ruleOf('1', { capacity: 1, refillIntervalMs: 10_000 });
  const decision = { allowed: false, limit: 1, remaining: 0, retryAfterMs: 5000, resetAfterMs: 5000 };
  const verdict = {
    allowed: false,
    reason: 'over_limit',
    retryAfterMs: 5000,
    beganBlock: false,
    limits: [{ ruleId: '1', rule, limit: rule.limits[0]!, decision }],
  } as unknown as Verdict;
  const clock = new FakeClock();
  const epoch = headersIn('legacy', 'epoch', clock.now);
  const resetOf = (headersOf = epoch) => refusalOf(verdict, 'id', headersOf).headers.at(5);
  clock.nowMs = 1_000_000;
  expect(refusalOf(verdict, 'id').headers).toContain('RateLimit');
  expect(resetOf()).toBe('1005');
  clock.advance(3000);
  expect(resetOf()).toBe('1008');
  expect(refusalOf(verdict, 'id').headers).toContain('RateLimit');
});
