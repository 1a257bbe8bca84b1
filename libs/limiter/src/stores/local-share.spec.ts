import * as fc from 'fast-check';
import { anyLimitSpecs, FakeClock, ruleOf, startedLimit } from '../../testing/index.js';
import { runs } from '../../testing/properties/runs.js';
import { capacityOf, excessOf, type Limit, type LimitSpec } from '../limits/limit.js';
import { MemoryBucketStore } from './memory-bucket-store.js';
import { merchantRules, type MerchantRules } from '../matching/merchant-rules.js';
import { msToMoreQuota, quotaWindowMs } from '../limits/pace.js';
import { StoreUnavailableError, type BucketStore } from './ports.js';
import { RateLimiter } from '../rate-limiter.js';
import type { Rule } from '../rules/rule.js';
import type { Verdict } from '../verdict.js';

const AWAY: BucketStore = { take: (_takes, answer) => answer(new StoreUnavailableError('gone'), 0), release: () => {}, refund: () => {} };

/** Gateways without a common store, each with buckets of its own. */
class Fleet {
  readonly clock = new FakeClock(1_763_000_000_000);
  alive: number;
  private readonly limiters: RateLimiter[];
  private readonly compiled = new Map<Rule, MerchantRules>();

  constructor(most: number) {
    this.alive = most;
    this.limiters = Array.from(
      { length: most },
      () => new RateLimiter(AWAY, new MemoryBucketStore(this.clock.now), { gateways: () => this.alive }),
    );
  }

  ask(gateway: number, own: Rule): Verdict {
    let verdict: Verdict | undefined;
    const descriptor = { merchantId: 'acme', ip: '192.0.2.1', method: 'GET', target: '/' };
    let rules = this.compiled.get(own);
    if (rules === undefined) this.compiled.set(own, (rules = merchantRules('acme', [own], [])));
    this.limiters[gateway]!.check(rules, descriptor, (outcome) => (verdict = outcome as Verdict));
    return verdict!;
  }

  /** How many of so many requests pass at once. */
  admitted(gateway: number, own: Rule, asked = 100): number {
    let count = 0;
    for (let i = 0; i < asked; i++) if (this.ask(gateway, own).allowed) count++;
    return count;
  }
}

const ruleWith = (limit: Limit, fields: Partial<Rule> = {}): Rule => ruleOf('1', { limits: [limit], ...fields });

const SECOND = { refillTokens: 3, refillIntervalMs: 1000 };
const greedy = (capacity: number): LimitSpec => ({ name: 'l', algorithm: 'token_bucket', capacity, ...SECOND, refill: 'greedy' });

describe.each([1, 2, 8])('%i gateways', (gateways) => {
  const specs: LimitSpec[] = [
    greedy(20),
    { name: 'l', algorithm: 'token_bucket', capacity: 20, ...SECOND, refill: 'interval' },
    { name: 'l', algorithm: 'token_bucket', capacity: 20, ...SECOND, refill: 'interval', align: 'clock' },
    { name: 'l', algorithm: 'token_bucket', capacity: 20, refillTokens: 3, refill: 'interval', calendar: 'minute' },
    { name: 'l', algorithm: 'gcra', capacity: 20, ...SECOND },
    { name: 'l', algorithm: 'leaky_bucket', capacity: 20, drainTokens: 3, drainIntervalMs: 1000 },
    { name: 'l', algorithm: 'fixed_window', limit: 20, windowMs: 1000, start: 'clock' },
    { name: 'l', algorithm: 'fixed_window', limit: 20, calendar: 'minute', start: 'clock' },
    { name: 'l', algorithm: 'sliding_log', limit: 20, windowMs: 1000 },
    { name: 'l', algorithm: 'sliding_counter', limit: 20, windowMs: 1000, parts: 4 },
    { name: 'l', algorithm: 'concurrency', limit: 20, slotTimeoutMs: 1000 },
  ];
  const share = Math.floor(20 / gateways);

  test.each(specs.map((spec) => [spec.algorithm, JSON.stringify(spec), spec] as const))(
    'each has its share of a %s: %s',
    (_algorithm, _text, spec) => {
      const fleet = new Fleet(gateways);
      const limit = startedLimit(spec, fleet.clock.nowMs);
      for (let i = 0; i < gateways; i++) {
        expect(fleet.ask(i, ruleWith(limit))).toMatchObject({
          allowed: true,
          source: 'local',
          limits: [{ decision: { limit: share, remaining: share - 1 } }],
        });
        expect(fleet.admitted(i, ruleWith(limit))).toBe(share - 1);
      }
    },
  );

  test('the rate is divided exactly: 3 a second for 800 seconds', () => {
    const fleet = new Fleet(gateways);
    const rule = ruleWith(startedLimit(greedy(20), fleet.clock.nowMs));
    for (let i = 0; i < gateways; i++) fleet.admitted(i, rule);
    let admitted = 0;
    for (let second = 0; second < 800; second++) {
      fleet.clock.advance(1000);
      for (let i = 0; i < gateways; i++) admitted += fleet.admitted(i, rule, 4);
    }
    expect(admitted).toBe(3 * 800);
  });
});

test('a share is never less than one token, but for a limit that lets nothing pass', () => {
  const fleet = new Fleet(8);
  const of = (spec: LimitSpec) => ruleWith(startedLimit(spec, fleet.clock.nowMs));
  expect(fleet.admitted(0, of(greedy(3)))).toBe(1);
  // Eight tokens of three a second, shared among eight.
  fleet.clock.advance(2666);
  expect(fleet.admitted(0, of(greedy(3)))).toBe(0);
  fleet.clock.advance(1);
  expect(fleet.admitted(0, of(greedy(3)))).toBe(1);
  expect(fleet.admitted(1, of({ name: 'l', algorithm: 'fixed_window', limit: 7, windowMs: 1000, start: 'clock' }))).toBe(1);
  const none = fleet.ask(2, of(greedy(0)));
  expect(none).toMatchObject({ allowed: false, reason: 'cost_exceeds_capacity', retryAfterMs: 'never' });
});

test('a request that costs more than the share, but not more than the limit, is refused while the store is away, and told so', () => {
  const fleet = new Fleet(8);
  const limit = startedLimit(greedy(20), fleet.clock.nowMs);
  expect(fleet.ask(0, ruleWith(limit, { cost: 2 }))).toMatchObject({ allowed: true });
  expect(fleet.ask(1, ruleWith(limit, { cost: 3 }))).toMatchObject({ allowed: false, reason: 'store_unavailable', source: 'local' });
  expect(fleet.ask(2, ruleWith(limit, { cost: 21 }))).toMatchObject({ allowed: false, reason: 'cost_exceeds_capacity' });
});

test('what was spent among few gateways stays spent among many, and the other way round', () => {
  const fleet = new Fleet(8);
  const rule = ruleWith(startedLimit({ ...greedy(16), refillTokens: 1, refillIntervalMs: 3_600_000 } as LimitSpec, fleet.clock.nowMs));
  fleet.alive = 2;
  expect(fleet.admitted(0, rule)).toBe(8);
  fleet.alive = 8;
  expect(fleet.admitted(0, rule)).toBe(0);
  expect(fleet.admitted(1, rule)).toBe(2);
  fleet.alive = 2;
  // Two of eight have spent four parts of sixteen: the rest is six of this gateway's eight tokens.
  expect(fleet.admitted(1, rule)).toBe(0 + 0 + (16 - 2 * 8) / 2);
  fleet.alive = 1;
  expect(fleet.admitted(2, rule)).toBe(16);
});

test('gateways share both a soft limit and its excess', () => {
  const fleet = new Fleet(2);
  const soft = (limit: number) =>
    ruleWith(
      startedLimit(
        { name: 'l', algorithm: 'fixed_window', limit, windowMs: 1000, start: 'clock', throttle: 'soft', excessPercent: 50 },
        fleet.clock.nowMs,
      ),
    );
  expect(fleet.ask(0, soft(10))).toMatchObject({ limits: [{ decision: { limit: 5, remaining: 4, overLimit: false } }] });
  expect(fleet.admitted(0, soft(10))).toBe(6);
  expect(fleet.admitted(1, soft(1))).toBe(1);
});

test('a penalty is not shared: it needs all of its refusals in each gateway', () => {
  const fleet = new Fleet(8);
  const rule = ruleWith(startedLimit(greedy(8), fleet.clock.nowMs), { penalty: { refusals: 10, windowMs: 60_000, blockMs: 60_000 } });
  const reasons = Array.from({ length: 12 }, () => fleet.ask(0, rule).reason);
  expect(reasons).toEqual(['allowed', ...new Array<string>(10).fill('over_limit'), 'blocked']);
});

test('a limit that was edited is carried over in its share', () => {
  const fleet = new Fleet(2);
  const before = startedLimit(greedy(20), fleet.clock.nowMs);
  expect(fleet.admitted(0, ruleWith(before))).toBe(10);
  const { id, since, previous: _previous, generation, ...numbers } = before;
  const edited: Limit = {
    ...numbers,
    capacity: 40,
    id,
    generation: generation + 1,
    since: { atMs: fleet.clock.nowMs, tokens: 0 },
    previous: [{ ...numbers, generation, since }],
  } as Limit;
  expect(fleet.admitted(0, ruleWith(edited))).toBe(0);
});

/** What one bucket may admit in a time, or hold at once, if it holds at least one token for each gateway: see docs/algorithms.md. */
function bound(limit: Limit, ms: number, gateways: number): number {
  const whole = capacityOf(limit);
  const full = whole + excessOf(limit);
  const most = (whole === 0 ? 0 : whole < gateways ? gateways : full) + Math.max(0, limit.since.tokens - full);
  switch (limit.algorithm) {
    case 'token_bucket':
      if (limit.refill === 'greedy') return most + (ms * limit.refillTokens) / limit.refillIntervalMs!;
      return limit.calendar === undefined ? most + limit.refillTokens * (Math.floor(ms / limit.refillIntervalMs!) + 1) : Infinity;
    case 'gcra':
      return most + (ms * limit.refillTokens) / limit.refillIntervalMs;
    case 'leaky_bucket':
      return most + (ms * limit.drainTokens) / limit.drainIntervalMs;
    case 'fixed_window':
      return limit.windowMs === undefined ? Infinity : most * (Math.floor(ms / limit.windowMs) + 2);
    case 'sliding_log':
    case 'sliding_counter':
      return most * (limit.algorithm === 'sliding_log' ? 1 : 2) * (Math.floor(ms / limit.windowMs) + 1);
    case 'concurrency':
      return most * (Math.floor(ms / limit.slotTimeoutMs) + 1);
  }
}

test('all gateways together admit what one bucket may, and one token each where the limit has fewer than gateways', () => {
  const gaps = (spec: LimitSpec) => {
    const windowMs = Math.min(quotaWindowMs(spec), 1e10);
    return fc.array(
      fc.record({ gateway: fc.nat({ max: 7 }), gapMs: fc.oneof(fc.constant(0), fc.double({ min: 0, max: windowMs / 8, noNaN: true })) }),
      { minLength: 1, maxLength: 60 },
    );
  };
  const cases = anyLimitSpecs().chain((spec) => fc.tuple(fc.constant(spec), fc.integer({ min: 1, max: 8 }), gaps(spec)));
  let over = 0;
  fc.assert(
    fc.property(cases, ([spec, gateways, requests]) => {
      const fleet = new Fleet(gateways);
      const rule = ruleWith(startedLimit(spec, fleet.clock.nowMs));
      const limit = rule.limits[0]!;
      const passed: number[] = [];
      for (const { gateway, gapMs } of requests) {
        fleet.clock.nowMs += Math.round(gapMs * 1000) / 1000;
        const verdict = fleet.ask(gateway % gateways, rule);
        if (verdict.allowed) passed.push(fleet.clock.nowMs);
        else over++;
        const { limit: shown, decision } = verdict.limits[0]!;
        expect(decision.limit).toBe(capacityOf(shown));
        expect(decision.remaining).toBeGreaterThanOrEqual(0);
        expect(Number.isInteger(decision.remaining)).toBe(true);
        expect(msToMoreQuota(shown, decision)).toBeGreaterThanOrEqual(0);
      }
      passed.forEach((from, i) => {
        // Instants are rounded to microseconds.
        passed.slice(i).forEach((to, k) => expect(k + 1).toBeLessThanOrEqual(bound(limit, to - from, gateways) + 0.01));
      });
    }),
    runs(150),
  );
  expect(over).toBeGreaterThan(150);
});
