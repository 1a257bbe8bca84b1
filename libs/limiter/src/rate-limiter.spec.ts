import { FakeClock, startedLimit } from '../testing/index.js';
import type { Descriptor } from './descriptor.js';
import type { TokenBucketSpec } from './limit.js';
import { MemoryBucketStore } from './memory-bucket-store.js';
import { merchantRules, type MerchantRules } from './merchant-rules.js';
import { NewerRulesError, StoreUnavailableError, type BucketStore } from './ports.js';
import { RateLimiter, type Verdict } from './rate-limiter.js';
import type { Rule } from './rule.js';

const numbers = (capacity: number, name = 'burst'): TokenBucketSpec => ({
  name, algorithm: 'token_bucket', capacity, refillTokens: 1, refillIntervalMs: 1000, refill: 'greedy',
});

function rule(id: string, fields: Partial<Rule> & { capacity?: number } = {}): Rule {
  const { capacity = 10, ...rest } = fields;
  return {
    id, name: `rule ${id}`, layer: 'merchant', priority: 100, enabled: true, mode: 'enforce', match: { methods: [], paths: [] },
    key: ['merchant'], limits: [startedLimit(numbers(capacity), 0)], cost: 1, onStoreFailure: 'local', ...rest,
  };
}

const request = (fields: Partial<Descriptor> = {}): Descriptor => ({ merchantId: 'acme', ip: '192.0.2.1', method: 'POST', target: '/transactions', ...fields });

function limiterOn(store?: BucketStore): RateLimiter {
  const clock = new FakeClock();
  return new RateLimiter(store ?? new MemoryBucketStore(clock.now), new MemoryBucketStore(clock.now));
}

const failing = (error: StoreUnavailableError | NewerRulesError): BucketStore => ({ take: (_takes, answer) => answer(error, 0), release: () => {}, refund: () => {} });

const check = (limiter: RateLimiter, rules: MerchantRules, descriptor: Descriptor): Promise<Verdict> =>
  new Promise((resolve, reject) => limiter.check(rules, descriptor, (outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome))));

/** Which rules decided: their limits, in order. */
async function chosen(own: Rule[], defaults: Rule[], descriptor = request()): Promise<string[]> {
  const verdict = await check(limiterOn(), merchantRules('acme', own, defaults, 0), descriptor);
  return verdict.limits.map(({ ruleId }) => ruleId);
}

describe('which rule is chosen', () => {
  test('the highest priority in each layer; layers add up', async () => {
    const own = [rule('1', { priority: 1 }), rule('2', { priority: 5 }), rule('3', { layer: 'user', priority: 1 })];
    expect(await chosen(own, [rule('4', { layer: 'platform' })])).toEqual(['4', '2', '3']);
  });

  test('on a tie the merchant’s own before a default one, then the older', async () => {
    expect(await chosen([rule('10'), rule('9')], [rule('2')])).toEqual(['9']);
    expect(await chosen([], [rule('10'), rule('9')])).toEqual(['9']);
  });

  test('a default rule of higher priority wins', async () => {
    expect(await chosen([rule('1', { priority: 5 })], [rule('2', { priority: 6 })])).toEqual(['2']);
  });

  test('only rules that match and are enabled', async () => {
    const own = [
      rule('1', { priority: 9, match: { methods: ['GET'], paths: [] } }),
      rule('2', { priority: 8, match: { methods: [], paths: ['/refunds/**'] } }),
      rule('3', { priority: 7, enabled: false }),
      rule('4', { priority: 6, match: { methods: ['POST'], paths: ['/x', '/transactions/**'] } }),
    ];
    expect(await chosen(own, [])).toEqual(['4']);
    expect(await chosen(own, [], request({ method: 'GET', target: '//transactions' }))).toEqual(['1']);
  });

  test('none: the request passes, with the reason', async () => {
    expect(await check(limiterOn(), merchantRules('acme', [], [], 0), request())).toMatchObject({ allowed: true, reason: 'no_matching_rule', limits: [] });
  });
});

describe('the verdict', () => {
  test('law 2: a refusal in one layer takes nothing from another', async () => {
    const limiter = limiterOn();
    const rules = merchantRules('acme', [rule('1', { capacity: 2 })], [rule('2', { layer: 'platform' })], 0);
    for (let i = 0; i < 2; i++) expect((await check(limiter, rules, request())).allowed).toBe(true);
    const verdict = await check(limiter, rules, request());
    expect(verdict).toMatchObject({ allowed: false, reason: 'over_limit', retryAfterMs: 1000, source: 'store' });
    expect(verdict.limits.map(({ decision }) => decision.remaining)).toEqual([8, 0]);
  });

  test('"never" is another reason than "not yet"', async () => {
    const verdict = await check(limiterOn(), merchantRules('acme', [rule('1', { cost: 11 })], [], 0), request());
    expect(verdict).toMatchObject({ allowed: false, reason: 'cost_exceeds_capacity', retryAfterMs: null });
  });

  test('buckets are kept apart by the parts of the key', async () => {
    const limiter = limiterOn();
    const rules = merchantRules('acme', [rule('1', { capacity: 1, key: ['merchant', 'ip'] })], [], 0);
    expect((await check(limiter, rules, request())).allowed).toBe(true);
    expect((await check(limiter, rules, request())).allowed).toBe(false);
    expect((await check(limiter, rules, request({ ip: '192.0.2.2' }))).allowed).toBe(true);
  });

  test('a shadow rule counts and refuses nothing, and does not displace an enforced one', async () => {
    const limiter = limiterOn();
    const rules = merchantRules('acme', [rule('1', { capacity: 1, priority: 500, mode: 'shadow' }), rule('2')], [], 0);
    expect(await check(limiter, rules, request())).toMatchObject({ allowed: true, shadowRefusals: 0 });
    const second = await check(limiter, rules, request());
    expect(second).toMatchObject({ allowed: true, shadowRefusals: 1 });
    expect(second.limits.map(({ ruleId }) => ruleId)).toEqual(['2']);
  });
});

describe('when the store is away', () => {
  const away = failing(new StoreUnavailableError('gone'));
  const verdictWith = (...policies: Rule['onStoreFailure'][]) => {
    const own = policies.map((onStoreFailure, i) => rule(String(i + 1), { onStoreFailure, layer: i === 0 ? 'merchant' : 'user', capacity: 1 }));
    const rules = merchantRules('acme', own, [], 0);
    const limiter = limiterOn(away);
    return [check(limiter, rules, request()), check(limiter, rules, request())];
  };

  test('open passes', async () => {
    expect(await verdictWith('open')[1]).toMatchObject({ allowed: true, reason: 'store_unavailable', source: 'none' });
  });

  test('closed refuses', async () => {
    expect(await verdictWith('closed')[0]).toMatchObject({ allowed: false, reason: 'store_unavailable' });
  });

  test('local asks a bucket in this process', async () => {
    const [first, second] = verdictWith('local');
    expect(await first).toMatchObject({ allowed: true, source: 'local' });
    expect(await second).toMatchObject({ allowed: false, reason: 'over_limit', source: 'local' });
  });

  test('of several rules the strictest has the word', async () => {
    expect(await verdictWith('open', 'closed')[0]).toMatchObject({ allowed: false, reason: 'store_unavailable' });
    expect(await verdictWith('open', 'local')[1]).toMatchObject({ allowed: false, reason: 'over_limit', source: 'local' });
  });

  test('outdated rules are no outage', async () => {
    const rules = merchantRules('acme', [rule('1')], [], 0);
    await expect(check(limiterOn(failing(new NewerRulesError())), rules, request())).rejects.toBeInstanceOf(NewerRulesError);
  });
});
