import { FakeClock, ruleOf, startedLimit } from '../testing/index.js';
import { bucketOf } from './buckets/bucket.js';
import { bucketKey } from './buckets/bucket-key.js';
import type { Descriptor } from './matching/descriptor.js';
import type { TokenBucketSpec } from './limits/limit.js';
import { MemoryBucketStore } from './stores/memory-bucket-store.js';
import { merchantRules, type MerchantRules } from './matching/merchant-rules.js';
import { NewerRulesError, StoreUnavailableError, type BucketStore, type SpareCapacity } from './stores/ports.js';
import { RateLimiter } from './rate-limiter.js';
import type { Rule } from './rules/rule.js';
import type { Verdict } from './verdict.js';

const numbers = (capacity: number, name = 'burst'): TokenBucketSpec => ({
  name,
  algorithm: 'token_bucket',
  capacity,
  refillTokens: 1,
  refillIntervalMs: 1000,
  refill: 'greedy',
});

const request = (fields: Partial<Descriptor> = {}): Descriptor => ({
  merchantId: 'acme',
  ip: '192.0.2.1',
  method: 'POST',
  target: '/transactions',
  ...fields,
});

function limiterOn(store?: BucketStore, spare?: SpareCapacity): RateLimiter {
  const clock = new FakeClock();
  return new RateLimiter(store ?? new MemoryBucketStore(clock.now), new MemoryBucketStore(clock.now), spare && { spareCapacity: spare });
}

const failing = (error: StoreUnavailableError | NewerRulesError): BucketStore => ({
  take: (_takes, answer) => answer(error, 0),
  release: () => {},
  refund: () => {},
});

const check = (limiter: RateLimiter, rules: MerchantRules, descriptor: Descriptor): Promise<Verdict> =>
  new Promise((resolve, reject) =>
    limiter.check(rules, descriptor, (outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome))),
  );

/** Which rules decided: their limits, in order. */
async function chosen(own: Rule[], defaults: Rule[], descriptor = request()): Promise<string[]> {
  const verdict = await check(limiterOn(), merchantRules('acme', own, defaults), descriptor);
  return verdict.limits.map(({ ruleId }) => ruleId);
}

describe('which rule is chosen', () => {
  test('the highest priority in each layer; layers add up', async () => {
    const own = [ruleOf('1', { priority: 1 }), ruleOf('2', { priority: 5 }), ruleOf('3', { layer: 'user', priority: 1 })];
    expect(await chosen(own, [ruleOf('4', { layer: 'platform' })])).toEqual(['4', '2', '3']);
  });

  test('on a tie the merchant’s own before a default one, then the older', async () => {
    expect(await chosen([ruleOf('10'), ruleOf('9')], [ruleOf('2')])).toEqual(['9']);
    expect(await chosen([], [ruleOf('10'), ruleOf('9')])).toEqual(['9']);
  });

  test('a default rule of higher priority wins', async () => {
    expect(await chosen([ruleOf('1', { priority: 5 })], [ruleOf('2', { priority: 6 })])).toEqual(['2']);
  });

  test('only rules that match and are enabled', async () => {
    const own = [
      ruleOf('1', { priority: 9, match: { methods: ['GET'], paths: [] } }),
      ruleOf('2', { priority: 8, match: { methods: [], paths: ['/refunds/**'] } }),
      ruleOf('3', { priority: 7, enabled: false }),
      ruleOf('4', { priority: 6, match: { methods: ['POST'], paths: ['/x', '/transactions/**'] } }),
    ];
    expect(await chosen(own, [])).toEqual(['4']);
    expect(await chosen(own, [], request({ method: 'GET', target: '/transactions' }))).toEqual(['1']);
  });

  test('HEAD follows the rules for GET, unless a rule that concerns the path names HEAD', async () => {
    const get = ruleOf('1', { priority: 9, match: { methods: ['GET'], paths: ['/transactions/**'] } });
    const head = ruleOf('2', { priority: 5, match: { methods: ['POST', 'HEAD'], paths: ['/transactions/7'] } });
    const any = ruleOf('3', { priority: 1 });
    const asked = (target: string, method = 'HEAD') => chosen([get, head, any], [], request({ method, target }));
    expect(await asked('/transactions')).toEqual(['1']);
    expect(await asked('/transactions/7')).toEqual(['2']);
    expect(await asked('/transactions/7', 'GET')).toEqual(['1']);
    expect(await asked('/refunds')).toEqual(['3']);
    expect(
      await chosen(
        [ruleOf('4', { priority: 8, match: { methods: ['GET'], paths: [] } })],
        [head],
        request({ method: 'HEAD', target: '/transactions' }),
      ),
    ).toEqual(['4']);
  });

  test('HEAD follows GET although a shadow rule, or one of another layer, names HEAD', async () => {
    const get = ruleOf('1', { match: { methods: ['GET'], paths: [] } });
    const shadow = ruleOf('2', { mode: 'shadow', match: { methods: ['HEAD'], paths: [] } });
    const platform = ruleOf('3', { layer: 'platform', match: { methods: ['HEAD'], paths: [] } });
    expect(await chosen([get, shadow, platform], [], request({ method: 'HEAD' }))).toEqual(expect.arrayContaining(['1', '3']));
  });

  test('without regard to case, if the request says so', async () => {
    const own = [ruleOf('1', { priority: 2, match: { methods: [], paths: ['/Transactions/**'] } }), ruleOf('2', { priority: 1 })];
    expect(await chosen(own, [], request({ target: '/tranSACTIONS/7' }))).toEqual(['2']);
    expect(await chosen(own, [], request({ target: '/tranSACTIONS/7', ignorePathCase: true }))).toEqual(['1']);
  });

  test('anew for each request, whatever was asked before', async () => {
    const own = [
      ruleOf('1', { priority: 9, match: { methods: ['GET'], paths: [] } }),
      ruleOf('2', { priority: 8, match: { methods: [], paths: ['/refunds/**'] } }),
      ruleOf('3', { priority: 1 }),
    ];
    const rules = merchantRules('acme', own, []);
    const limiter = limiterOn();
    const requests: [Partial<Descriptor>, string][] = [
      [{}, '3'],
      [{}, '3'],
      [{ method: 'GET' }, '1'],
      [{}, '3'],
      [{ target: '/refunds/7' }, '2'],
      [{ target: `/refunds/${'7'.repeat(1000)}` }, '2'],
      [{ target: '/refunds' }, '2'],
      [{}, '3'],
    ];
    for (const [fields, expected] of requests) {
      expect((await check(limiter, rules, request(fields))).limits.map(({ ruleId }) => ruleId)).toEqual([expected]);
    }
  });

  test('none: the request passes, with the reason', async () => {
    expect(await check(limiterOn(), merchantRules('acme', [], []), request())).toMatchObject({
      allowed: true,
      reason: 'no_matching_rule',
      limits: [],
    });
  });
});

describe('the verdict', () => {
  test('law 2: a refusal in one layer takes nothing from another', async () => {
    const limiter = limiterOn();
    const rules = merchantRules('acme', [ruleOf('1', { capacity: 2 })], [ruleOf('2', { layer: 'platform' })]);
    for (let i = 0; i < 2; i++) expect((await check(limiter, rules, request())).allowed).toBe(true);
    const verdict = await check(limiter, rules, request());
    expect(verdict).toMatchObject({ allowed: false, reason: 'over_limit', retryAfterMs: 1000, source: 'store' });
    expect(verdict.limits.map(({ decision }) => decision.remaining)).toEqual([8, 0]);
  });

  test('"never" is another reason than "not yet"', async () => {
    const verdict = await check(limiterOn(), merchantRules('acme', [ruleOf('1', { cost: 11 })], []), request());
    expect(verdict).toMatchObject({ allowed: false, reason: 'cost_exceeds_capacity', retryAfterMs: 'never' });
  });

  test('a limit of 0 refuses for ever, whatever else would let pass, and takes nothing there', async () => {
    const limiter = limiterOn();
    const rules = merchantRules('acme', [ruleOf('1', { capacity: 0 })], [ruleOf('2', { layer: 'platform' })]);
    const verdict = await check(limiter, rules, request());
    expect(verdict).toMatchObject({ allowed: false, reason: 'cost_exceeds_capacity', retryAfterMs: 'never' });
    expect(verdict.limits.map(({ decision }) => decision.remaining)).toEqual([10, 0]);
  });

  test('buckets are kept apart by the parts of the key', async () => {
    const limiter = limiterOn();
    const rules = merchantRules('acme', [ruleOf('1', { capacity: 1, key: ['merchant', 'ip'] })], []);
    expect((await check(limiter, rules, request())).allowed).toBe(true);
    expect((await check(limiter, rules, request())).allowed).toBe(false);
    expect((await check(limiter, rules, request({ ip: '192.0.2.2' }))).allowed).toBe(true);
  });

  test('a shadow rule counts and refuses nothing, and does not displace an enforced one', async () => {
    const limiter = limiterOn();
    const rules = merchantRules('acme', [ruleOf('1', { capacity: 1, priority: 500, mode: 'shadow' }), ruleOf('2')], []);
    expect(await check(limiter, rules, request())).toMatchObject({ allowed: true, shadowRefusals: 0 });
    const second = await check(limiter, rules, request());
    expect(second).toMatchObject({ allowed: true, shadowRefusals: 1, shadow: [{ ruleId: '1', refused: true }] });
    expect(second.limits.map(({ ruleId }) => ruleId)).toEqual(['2']);
  });
});

describe('a penalty', () => {
  const penalty = { refusals: 2, windowMs: 60_000, blockMs: 90_000 };

  test('says when it began, for how long it lasts, and that it is why', async () => {
    const clock = new FakeClock();
    const limiter = limiterOn(new MemoryBucketStore(clock.now));
    const rules = merchantRules('acme', [ruleOf('1', { capacity: 1, penalty })], []);
    const verdicts: Verdict[] = [];
    for (let i = 0; i < 4; i++) verdicts.push(await check(limiter, rules, request()));
    expect(verdicts.map(({ allowed, reason, retryAfterMs, beganBlock }) => [allowed, reason, retryAfterMs, beganBlock])).toEqual([
      [true, 'allowed', 0, false],
      [false, 'over_limit', 1000, false],
      [false, 'over_limit', 90_000, true],
      [false, 'blocked', 90_000, false],
    ]);
    clock.nowMs = 30_000;
    expect(await check(limiter, rules, request())).toMatchObject({ allowed: false, reason: 'blocked', retryAfterMs: 60_000 });
    expect(verdicts[3]!.limits).toHaveLength(1);
  });

  test('is of one bucket key, and of its own rule', async () => {
    const limiter = limiterOn();
    const rules = merchantRules(
      'acme',
      [ruleOf('1', { capacity: 1, key: ['merchant', 'ip'], penalty }), ruleOf('2', { layer: 'user', capacity: 100 })],
      [],
    );
    for (let i = 0; i < 3; i++) await check(limiter, rules, request());
    expect(await check(limiter, rules, request())).toMatchObject({ reason: 'blocked' });
    expect(await check(limiter, rules, request({ ip: '192.0.2.2' }))).toMatchObject({ allowed: true });
  });

  test('in shadow, counts what it would have refused', async () => {
    const limiter = limiterOn();
    const rules = merchantRules('acme', [ruleOf('1', { capacity: 1, mode: 'shadow', penalty })], []);
    const counts: number[] = [];
    for (let i = 0; i < 5; i++) counts.push((await check(limiter, rules, request())).shadowRefusals);
    expect(counts).toEqual([0, 1, 1, 1, 1]);
  });
});

describe('a block by an operator', () => {
  const blocked = async (rules: Rule[], ruleId: string, clock = new FakeClock()) => {
    const store = new MemoryBucketStore(clock.now);
    const [limit] = rules.find(({ id }) => id === ruleId)!.limits;
    await store.operate(bucketKey({ id: ruleId, key: ['merchant'] }, 0, request()), bucketOf(limit!), { kind: 'block', forMs: 5000 });
    return { limiter: limiterOn(store), rules: merchantRules('acme', rules, []) };
  };

  test('is why, and says how long it goes on', async () => {
    const clock = new FakeClock();
    const { limiter, rules } = await blocked([ruleOf('1')], '1', clock);
    clock.advance(1000);
    expect(await check(limiter, rules, request())).toMatchObject({
      allowed: false,
      reason: 'blocked',
      retryAfterMs: 4000,
      source: 'store',
      beganBlock: false,
    });
    clock.advance(4000);
    expect(await check(limiter, rules, request())).toMatchObject({ allowed: true, reason: 'allowed' });
  });

  test('is why although another limit is exhausted, or a penalty of another rule begins', async () => {
    const penalty = { refusals: 1, windowMs: 60_000, blockMs: 90_000 };
    const { limiter, rules } = await blocked([ruleOf('1'), ruleOf('2', { layer: 'user', capacity: 1, cost: 1, penalty })], '1');
    expect(await check(limiter, rules, request())).toMatchObject({ reason: 'blocked', retryAfterMs: 5000 });
    await check(limiter, merchantRules('acme', [ruleOf('2', { layer: 'user', capacity: 1, penalty })], []), request());
    expect(await check(limiter, rules, request())).toMatchObject({ reason: 'blocked', retryAfterMs: 90_000, beganBlock: true });
  });

  test('"never" is told from "not yet"', async () => {
    const { limiter, rules } = await blocked([ruleOf('1', { cost: 11 })], '1');
    expect(await check(limiter, rules, request())).toMatchObject({ reason: 'cost_exceeds_capacity', retryAfterMs: 'never' });
  });

  test('of a shadow rule refuses nothing, and is counted', async () => {
    const { limiter, rules } = await blocked([ruleOf('1', { mode: 'shadow' })], '1');
    expect(await check(limiter, rules, request())).toMatchObject({ allowed: true, shadowRefusals: 1 });
  });
});

describe('an elastic limit', () => {
  class Spare implements SpareCapacity {
    constructor(public left: number) {}
    reserve(): number {
      return this.left > 0 ? this.left-- : 0;
    }
    giveBack(): void {
      this.left++;
    }
  }
  const elastic = (capacity: number) => ruleOf('1', { limits: [startedLimit({ ...numbers(capacity), throttle: 'elastic' }, 0)] });

  test('H2: passes above its limit as long as there is spare capacity, and uses none below it', async () => {
    const spare = new Spare(3);
    const limiter = limiterOn(undefined, spare);
    const rules = merchantRules('acme', [elastic(2)], []);
    const verdicts: Verdict[] = [];
    for (let i = 0; i < 7; i++) verdicts.push(await check(limiter, rules, request()));
    expect(verdicts.map(({ allowed, usedSpare }) => [allowed, usedSpare])).toEqual([
      [true, false],
      [true, false],
      [true, true],
      [true, true],
      [true, true],
      [false, false],
      [false, false],
    ]);
    expect(verdicts[4]!.limits[0]!.decision).toMatchObject({ overLimit: true, remaining: 0 });
    expect(spare.left).toBe(0);
  });

  test('is hard where nobody measures', async () => {
    const limiter = limiterOn();
    const rules = merchantRules('acme', [elastic(1)], []);
    expect([await check(limiter, rules, request()), await check(limiter, rules, request())].map(({ allowed }) => allowed)).toEqual([
      true,
      false,
    ]);
  });

  test('another limit that refuses still refuses, and the spare capacity is not used up', async () => {
    const spare = new Spare(3);
    const limiter = limiterOn(undefined, spare);
    const rules = merchantRules('acme', [elastic(1), ruleOf('2', { layer: 'user', capacity: 2 })], []);
    const verdicts: Verdict[] = [];
    for (let i = 0; i < 4; i++) verdicts.push(await check(limiter, rules, request()));
    expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, true, false, false]);
    expect(spare.left).toBe(2);
  });
});

describe('what a request took', () => {
  test('is given back once, and not after its end', async () => {
    const limiter = limiterOn();
    const rules = merchantRules('acme', [ruleOf('1', { capacity: 3 })], []);
    const [first, second] = [await check(limiter, rules, request()), await check(limiter, rules, request())];
    for (const reservation of first.reservations) {
      reservation.refund();
      reservation.refund();
    }
    for (const reservation of second.reservations) {
      reservation.release();
      reservation.refund();
    }
    expect((await check(limiter, rules, request())).limits[0]!.decision.remaining).toBe(1);
  });

  test('a shadow rule counts nothing that was refused', async () => {
    const limiter = limiterOn();
    const rules = merchantRules('acme', [ruleOf('1', { capacity: 2, mode: 'shadow' }), ruleOf('2', { capacity: 1 })], []);
    for (let i = 0; i < 5; i++) expect((await check(limiter, rules, request())).shadowRefusals).toBe(0);
  });
});

describe('when the store is away', () => {
  const away = failing(new StoreUnavailableError('gone'));
  const verdictWith = (...policies: Rule['onStoreFailure'][]) => {
    const own = policies.map((onStoreFailure, i) =>
      ruleOf(String(i + 1), { onStoreFailure, layer: i === 0 ? 'merchant' : 'user', capacity: 1 }),
    );
    const rules = merchantRules('acme', own, []);
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

  test('a verdict names the tokens that the request asked for, not the parts of a share in which a local bucket counts', async () => {
    const limiter = new RateLimiter(away, new MemoryBucketStore(new FakeClock().now), { gateways: () => 4 });
    const rules = merchantRules('acme', [ruleOf('1', { cost: 2, capacity: 100 })], []);
    expect((await check(limiter, rules, request())).limits).toMatchObject([{ cost: 2, rule: { id: '1' } }]);
  });

  test('of several rules the strictest decides', async () => {
    expect(await verdictWith('open', 'closed')[0]).toMatchObject({ allowed: false, reason: 'store_unavailable' });
    expect(await verdictWith('open', 'local')[1]).toMatchObject({ allowed: false, reason: 'over_limit', source: 'local' });
  });

  test('outdated rules are no outage', async () => {
    const rules = merchantRules('acme', [ruleOf('1')], []);
    await expect(check(limiterOn(failing(new NewerRulesError())), rules, request())).rejects.toBeInstanceOf(NewerRulesError);
  });
});
