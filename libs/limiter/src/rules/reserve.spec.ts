import { FakeClock, ruleOf, verdictsOf } from '../../testing/index.js';
import type { Descriptor } from '../matching/descriptor.js';
import { startLimits } from '../limits/limit-edit.js';
import type { LimitSpec } from '../limits/limit-fields.js';
import { MemoryBucketStore } from '../stores/memory-bucket-store.js';
import { merchantRules, type MerchantRules } from '../matching/merchant-rules.js';
import { msToMoreQuota } from '../limits/pace.js';
import { type BucketStore, StoreUnavailableError } from '../stores/ports.js';
import { RateLimiter } from '../rate-limiter.js';
import { RememberingBucketStore } from '../stores/remembering-bucket-store.js';
import { ruleWarnings } from '../warnings/rule-warnings.js';
import type { Rule, RuleSpec } from './rule.js';
import { storedRule } from './stored-rule.js';
import type { SlotHolder, TakeRequest } from '../buckets/take.js';
import type { Verdict } from '../verdict.js';
import { withheldOf } from '../matching/withheld.js';
import { writingFaults } from '../writing/writing-faults.js';

const CAPTURES = { name: 'captures', methods: ['POST'], paths: ['/transactions/*/capture'], percent: 20 };
const REFUNDS = { name: 'refunds', paths: ['/refunds/**'], percent: 10 };
const HOUR_MS = 3_600_000;

/** Ten at once, of which two are kept for captures; one more an hour. */
const kept = (changes: Parameters<typeof ruleOf>[1] = {}): Rule =>
  ruleOf('1', { refillIntervalMs: HOUR_MS, reserve: [CAPTURES], ...changes });

type Asked = Partial<Descriptor>;
const capture: Asked = { method: 'POST', target: '/transactions/7/capture' };
const other: Asked = { method: 'GET', target: '/transactions' };

/** One gateway, with a store that it is told of at every take. */
class Gateway {
  readonly clock = new FakeClock(1_763_000_000_000);
  taken = 0;
  gateways = 1;
  isAway = false;
  private readonly shared = new MemoryBucketStore(this.clock.now);
  private readonly limiter: RateLimiter;

  private readonly compiled: MerchantRules;

  constructor(rules: readonly Rule[]) {
    this.compiled = merchantRules('acme', rules, []);
    const store: BucketStore = {
      take: (request: TakeRequest, answer) => {
        this.taken++;
        if (this.isAway) answer(new StoreUnavailableError('gone'), 0);
        else this.shared.take(request, answer);
      },
      release: (holder: SlotHolder) => this.shared.release(holder),
      refund: (receipt) => this.shared.refund(receipt),
    };
    const operable = Object.assign(store, { operate: this.shared.operate.bind(this.shared) });
    this.limiter = new RateLimiter(new RememberingBucketStore(operable, this.clock.now), new MemoryBucketStore(this.clock.now), {
      gateways: () => this.gateways,
    });
  }

  ask(asked: Asked): Verdict {
    let verdict: Verdict | undefined;
    const descriptor = { merchantId: 'acme', ip: '192.0.2.1', method: 'GET', target: '/', ...asked };
    this.limiter.check(this.compiled, descriptor, (outcome) => (verdict = outcome as Verdict));
    return verdict!;
  }

  /** How many of so many pass. */
  pass(asked: Asked, requests = 20): number {
    let count = 0;
    for (let i = 0; i < requests; i++) if (this.ask(asked).allowed) count++;
    return count;
  }
}

describe('a rule that keeps a share of its buckets for some routes', () => {
  it('refuses others when only the share is left, and those when nothing is', () => {
    const gateway = new Gateway([kept()]);
    expect([gateway.pass(other), gateway.pass(capture), gateway.pass(other)]).toEqual([8, 2, 0]);
  });

  it('has one bucket: what the named routes take is missing for others', () => {
    const gateway = new Gateway([kept()]);
    expect([gateway.pass(capture, 5), gateway.pass(other), gateway.pass(capture)]).toEqual([5, 3, 2]);
  });

  it.each<[string, Asked, boolean]>([
    ['the method and the path', capture, true],
    ['another path', { ...capture, target: '/transactions/7/void' }, false],
    ['another method', { ...capture, method: 'PUT' }, false],
    ['the path with a query', { ...capture, target: '/transactions/7/capture?x=1' }, true],
    ['the path in capitals', { ...capture, target: '/TRANSACTIONS/7/CAPTURE' }, false],
    ['the path in capitals where case makes no difference', { ...capture, target: '/TRANSACTIONS/7/CAPTURE', ignorePathCase: true }, true],
    ['a path of the other share, whatever the method', { method: 'DELETE', target: '/refunds' }, true],
    ['HEAD, which is where GET is', { method: 'HEAD', target: '/reports' }, true],
    ['a path on which only GET is named', { method: 'POST', target: '/reports' }, false],
  ])('knows its routes as rules do: %s', (_what, asked, isKept) => {
    const gateway = new Gateway([
      kept({ reserve: [CAPTURES, REFUNDS, { name: 'reports', methods: ['GET'], paths: ['/reports'], percent: 20 }] }),
    ]);
    expect(gateway.pass(asked)).toBe(isKept ? 10 : 5);
  });

  it('keeps all shares together for all of their routes, and for requests in any order', () => {
    const gateway = new Gateway([kept({ reserve: [CAPTURES, REFUNDS] })]);
    const refund = { method: 'POST', target: '/refunds/7' };
    expect([gateway.pass(other), gateway.pass(refund, 2), gateway.pass(capture), gateway.pass(refund)]).toEqual([7, 2, 1, 0]);
  });

  it('names methods alone, in a rule for any path', () => {
    const gateway = new Gateway([kept({ reserve: [{ name: 'writes', methods: ['POST'], percent: 50 }] })]);
    expect([gateway.pass(other), gateway.pass(capture)]).toEqual([5, 5]);
  });

  it('of a shadow rule too: it counts what it would have refused', () => {
    const shadow = kept({ mode: 'shadow' });
    expect(verdictsOf([shadow], 10, { merchantId: 'acme', ip: '', method: 'GET', target: '/' }).map((each) => each.shadowRefusals)).toEqual(
      [0, 0, 0, 0, 0, 0, 0, 0, 1, 1],
    );
  });

  it('is chosen and displaced as it would be without', () => {
    const gateway = new Gateway([kept({ priority: 1 }), ruleOf('2', { capacity: 3, refillIntervalMs: HOUR_MS })]);
    expect([gateway.pass(other), gateway.pass(capture)]).toEqual([3, 0]);
  });

  it.each<[string, Rule['reserve']]>([
    ['an empty list', []],
    ['null', null],
  ])('keeps nothing by %s', (_what, reserve) => {
    const gateway = new Gateway([kept({ reserve: reserve! })]);
    expect(gateway.pass(other)).toBe(10);
    expect(gateway.ask(other).limits[0]!.decision).not.toHaveProperty('withheld');
  });
});

describe('what is said to those for whom nothing is kept', () => {
  it('is what is left for them, and when there is more for them', () => {
    const gateway = new Gateway([kept()]);
    const { limits } = gateway.ask({ ...other });
    expect(limits[0]!.decision).toMatchObject({ limit: 10, remaining: 7, withheld: 2, retryAfterMs: 0 });
    gateway.pass(other, 7);
    gateway.pass(capture, 1);
    const refused = gateway.ask({ ...other, target: '/else' });
    expect(refused).toMatchObject({ allowed: false, reason: 'over_limit', retryAfterMs: 2 * HOUR_MS });
    const [{ limit, decision }] = refused.limits as [Verdict['limits'][number]];
    expect(decision).toMatchObject({ remaining: 0, retryAfterMs: 2 * HOUR_MS, resetAfterMs: 9 * HOUR_MS });
    expect(msToMoreQuota(limit, decision)).toBe(2 * HOUR_MS);
    expect(gateway.ask(capture).limits[0]!.decision).toMatchObject({ allowed: true, remaining: 0 });
    gateway.clock.advance(12 * HOUR_MS);
    const full = gateway.ask({ ...other, target: '/again' }).limits[0]!;
    expect(msToMoreQuota(full.limit, full.decision)).toBe(HOUR_MS);
  });

  it('is never, if they cost more than the rest holds', () => {
    const gateway = new Gateway([kept({ cost: 9 })]);
    expect(gateway.ask(other)).toMatchObject({ allowed: false, reason: 'cost_exceeds_capacity', retryAfterMs: 'never' });
    expect(gateway.ask(capture)).toMatchObject({ allowed: true });
  });

  it('takes nothing from any limit if one of them has no more than its share left', () => {
    const limits = startLimits(
      [
        { name: 'wide', algorithm: 'fixed_window', limit: 100, windowMs: HOUR_MS, start: 'clock' },
        { name: 'tight', algorithm: 'fixed_window', limit: 10, windowMs: HOUR_MS, start: 'clock' },
      ],
      0,
    );
    const gateway = new Gateway([kept({ limits })]);
    expect(gateway.pass(other)).toBe(8);
    expect(gateway.ask(capture).limits.map(({ decision }) => decision.remaining)).toEqual([91, 1]);
  });
});

describe('a refusal that is remembered (law 7)', () => {
  it('of others does not refuse the routes for which something is kept, and costs no second call', () => {
    const gateway = new Gateway([kept()]);
    gateway.pass(other, 9);
    const asked = gateway.taken;
    expect([gateway.pass(other, 5), gateway.taken]).toEqual([0, asked]);
    expect(gateway.ask(capture).allowed).toBe(true);
    expect([gateway.pass(other, 5), gateway.taken]).toEqual([0, asked + 1]);
  });

  it('of these refuses others as well, for as long as it lasts, and not beyond', () => {
    const gateway = new Gateway([kept({ refillIntervalMs: 100 })]);
    gateway.pass(capture, 11);
    const asked = gateway.taken;
    const refused = gateway.ask(other);
    expect(refused).toMatchObject({ allowed: false, source: 'memory', retryAfterMs: 300 });
    expect([gateway.pass(capture, 3), gateway.taken]).toEqual([0, asked]);
    gateway.clock.advance(100);
    expect([gateway.ask(other).allowed, gateway.ask(capture).allowed]).toEqual([false, true]);
  });

  it('of a bucket that is blocked refuses both', () => {
    const gateway = new Gateway([kept({ penalty: { refusals: 2, windowMs: HOUR_MS, blockMs: HOUR_MS } })]);
    gateway.pass(other, 9);
    // Refusals of others count, and what is blocked is blocked for all.
    expect(gateway.ask(other).beganBlock).toBe(true);
    expect(gateway.ask(capture)).toMatchObject({ allowed: false, reason: 'blocked' });
  });
});

describe('limits of other kinds', () => {
  const limited = (spec: LimitSpec, changes: Partial<Rule> = {}) => new Gateway([kept({ limits: startLimits([spec], 0), ...changes })]);

  it('of slots some are kept, and a slot that is released is there again', () => {
    const gateway = limited({ name: 'at once', algorithm: 'concurrency', limit: 5, slotTimeoutMs: HOUR_MS });
    const passed = Array.from({ length: 6 }, () => gateway.ask(other)).filter(({ allowed }) => allowed);
    expect([passed.length, gateway.pass(capture), gateway.pass(other)]).toEqual([4, 1, 0]);
    for (const { reservations } of passed.slice(0, 2)) reservations[0]!.release();
    expect([gateway.pass(other), gateway.pass(capture)]).toEqual([1, 1]);
  });

  it('an elastic limit is hard at the share where no capacity is spare', () => {
    const gateway = limited({ name: 'e', algorithm: 'fixed_window', limit: 10, windowMs: HOUR_MS, start: 'clock', throttle: 'elastic' });
    expect([gateway.pass(other), gateway.pass(capture)]).toEqual([8, 2]);
  });

  it('what is given back is there again for both', () => {
    const gateway = new Gateway([kept()]);
    const verdicts = Array.from({ length: 8 }, () => gateway.ask(other));
    expect(gateway.pass(other)).toBe(0);
    verdicts[0]!.reservations[0]!.refund();
    gateway.clock.advance(60);
    expect([gateway.pass(other), gateway.pass(capture)]).toEqual([1, 2]);
  });

  it('buckets by user each keep a share', () => {
    const gateway = new Gateway([kept({ key: ['merchant', 'user'] })]);
    for (const user of ['ann', 'bob']) expect([gateway.pass({ ...other, user }), gateway.pass({ ...capture, user })]).toEqual([8, 2]);
  });

  it.each<[LimitSpec, number, number]>([
    [{ name: 'l', algorithm: 'fixed_window', limit: 10, windowMs: 1000, start: 'clock' }, 20, 2],
    [{ name: 'l', algorithm: 'fixed_window', limit: 11, windowMs: 1000, start: 'clock' }, 20, 3],
    [{ name: 'l', algorithm: 'fixed_window', limit: 1_000_000_000, windowMs: 1000, start: 'clock' }, 7, 70_000_000],
    [{ name: 'l', algorithm: 'fixed_window', limit: 10, windowMs: 1000, start: 'clock', throttle: 'soft', excessPercent: 50 }, 20, 2],
    [{ name: 'l', algorithm: 'fixed_window', limit: 2, windowMs: 1000, start: 'clock' }, 99, 1],
    [{ name: 'l', algorithm: 'fixed_window', limit: 1, windowMs: 1000, start: 'clock' }, 99, 0],
    [{ name: 'l', algorithm: 'fixed_window', limit: 0, windowMs: 1000, start: 'clock' }, 99, 0],
    [
      {
        name: 'l',
        algorithm: 'leaky_bucket',
        capacity: 100,
        drainTokens: 2,
        drainIntervalMs: 1000,
        onLimit: { delay: { maxWaitMs: 4500 } },
      },
      50,
      5,
    ],
  ])('%j: %i percent are %i tokens', (spec, percent, tokens) => expect(withheldOf(spec, percent)).toBe(tokens));
});

describe('while the store is away', () => {
  it.each([
    [1, 8, 2],
    [2, 4, 1],
    [4, 1, 1],
    // Of a gateway's share of one token nothing can be kept.
    [10, 1, 0],
  ])('each of %i gateways keeps a share of its own: %i for others, then %i', (gateways, others, captures) => {
    const gateway = new Gateway([kept()]);
    gateway.isAway = true;
    gateway.gateways = gateways;
    const first = gateway.ask(other);
    expect(first.limits[0]!.decision.remaining).toBe(others - 1);
    expect([gateway.pass(other), gateway.pass(capture)]).toEqual([others - 1, captures]);
  });
});

describe('a rule that is written', () => {
  const spec = (changes: Partial<RuleSpec>): RuleSpec => ({ ...kept(), ...changes });
  const codes = (rule: RuleSpec) => writingFaults(rule).map(({ code, pointer }) => [code, pointer]);

  it('is refused if its routes are no patterns of ours, or no methods', () => {
    expect(codes(spec({ reserve: [CAPTURES, { ...REFUNDS, methods: ['FETCH'], paths: ['/refunds/{id}'] }] }))).toEqual([
      ['rule.reserve.methods.not_one_of', '/reserve/1/methods/0'],
      ['rule.reserve.paths.never_matches', '/reserve/1/paths/0'],
    ]);
  });

  it('is refused if no request passes but those for which something is kept', () => {
    expect(codes(spec({ cost: 8 }))).toEqual([]);
    expect(codes(spec({ cost: 9 }))).toEqual([['rule.cost.exceeds_capacity', '/cost']]);
    expect(writingFaults(spec({ cost: 9 }))[0]!.detail).toContain('must be at most 8, what the limit "burst" holds beside the 2 that are');
  });

  it('is warned of where nothing can be kept, where a penalty blocks what is kept, and of paths that look like expressions', () => {
    const [one] = startLimits([{ name: 'one', algorithm: 'fixed_window', limit: 1, windowMs: 1000, start: 'clock' }], 0);
    const penalty = { refusals: 3, windowMs: 1000, blockMs: 1000 };
    const reserve = [{ ...CAPTURES, paths: ['/captures/.*'] }];
    const found = ruleWarnings(spec({ limits: [...kept().limits, one!], penalty, reserve }), 0);
    expect(found.map(({ code, pointer }) => [code, pointer])).toEqual(
      expect.arrayContaining([
        ['rule.match.paths.looks_like_expression', '/reserve/0/paths/0'],
        ['limit.reserve.nothing', '/limits/1'],
        ['rule.penalty.blocks_reserve', '/penalty'],
      ]),
    );
  });

  it('comes back from a store, and is not believed if it is broken there', () => {
    const stored = structuredClone(kept());
    expect(storedRule(stored).reserve).toEqual([CAPTURES]);
    expect(storedRule({ ...stored, reserve: null })).not.toHaveProperty('reserve');
    expect(() => storedRule({ ...stored, reserve: [{ ...CAPTURES, percent: 120 }] })).toThrow(/reserve/);
    expect(() => storedRule({ ...stored, reserve: [{ ...CAPTURES, paths: ['captures'] }] })).toThrow(/reserve/);
  });
});
