import { editLimits, MemoryBucketStore, merchantRules, RateLimiter, startLimits, type LimitSpec, type Rule, type Verdict } from '#limiter';
import { burst, ruleOf } from '#limiter/testing';
import { claimKey, type ClaimOutcome, createRedis, loadScripts, RedisBucketStore, RedisClaimStore } from '#limiter-redis';
import type { Redis } from 'ioredis';
import { freshRedis, type TestRedis } from '../../support/services.js';

let server: TestRedis;
let redis: Redis;
let other: Redis;
let store: RedisBucketStore;
/** Of two processes. */
let here: RedisClaimStore;
let there: RedisClaimStore;
const unreadable: string[] = [];

beforeAll(async () => {
  server = await freshRedis();
  [redis, other] = [createRedis(server.url, 'limiter') as Redis, createRedis(server.url, 'limiter') as Redis];
  await Promise.all([redis, other].map((each) => new Promise((resolve) => each.once('ready', resolve))));
  await loadScripts(redis);
  store = new RedisBucketStore(redis, { deadlineMs: 5000 });
  here = new RedisClaimStore(redis, { nowMs: Date.now });
  there = new RedisClaimStore(other, { nowMs: Date.now, onUnreadable: ({ reason }) => unreadable.push(reason) });
});

beforeEach(() => redis.flushall());

afterAll(async () => {
  store.close();
  redis.disconnect();
  other.disconnect();
  await server.stop();
});

const MINUTE_MS = 60_000;
const NOTHING_COMES_BACK = burst({ capacity: 3, refillTokens: 1, refillIntervalMs: 86_400_000 });
const SLOTS: LimitSpec = { name: 'slots', algorithm: 'concurrency', limit: 2, slotTimeoutMs: 3_600_000 };
const FAILED = { on: 'response', when: { field: 'response.status', from: 400, to: 499 } } as const;
const STARTED_MS = Date.now() - MINUTE_MS;

const rule = (parts: Partial<Rule> = {}, limits: readonly LimitSpec[] = [NOTHING_COMES_BACK]): Rule =>
  ruleOf('1', { limits: startLimits(limits, STARTED_MS), onStoreFailure: 'closed', ...parts });

function ask(rules: readonly Rule[], times = 1): Promise<Verdict> {
  const limiter = new RateLimiter(store, new MemoryBucketStore(Date.now));
  const descriptor = { merchantId: 'acme', ip: '', method: 'POST', target: '/', times };
  return new Promise((resolve) => limiter.check(merchantRules('acme', rules, []), descriptor, (outcome) => resolve(outcome as Verdict)));
}

const left = async (rules: readonly Rule[]): Promise<number> => {
  const { allowed, limits } = await ask(rules);
  return allowed ? limits[0]!.decision.remaining : -1;
};

async function claimed(rules: readonly Rule[], forMs = MINUTE_MS): Promise<string> {
  const verdict = await ask(rules);
  expect(verdict.allowed).toBe(true);
  return (await here.keep(verdict.reservations, forMs))!;
}

const short = (outcome: ClaimOutcome): string =>
  'given' in outcome
    ? `${outcome.outcome} ${outcome.given}/${outcome.edited}`
    : 'as' in outcome
      ? `before: ${outcome.as}`
      : outcome.outcome;

const answer = (status: number) => ({ head: { status, headerValues: () => [] } });

test('another process gives back what a claim stands for, once, and both are told how it ended', async () => {
  const rules = [rule()];
  const claim = await claimed(rules);
  expect(short(await there.refund(claim))).toBe('refunded 1/0');
  expect(short(await there.refund(claim))).toBe('before: refunded');
  expect(short(await here.settle(claim, answer(200)))).toBe('before: refunded');
  expect(await left(rules)).toBe(2);
});

test('a request that only looks leaves no claim', async () => {
  const verdict = await ask([rule()], 0);
  expect(verdict.allowed).toBe(true);
  expect(await here.keep(verdict.reservations, MINUTE_MS)).toBeUndefined();
  expect(await redis.keys('*')).toEqual([]);
});

test('of many who give back the same claim at once, one does', async () => {
  const rules = [rule()];
  const claim = await claimed(rules);
  const outcomes = await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? here : there).refund(claim)));
  expect(outcomes.map(short).sort()).toEqual([...Array<string>(19).fill('before: refunded'), 'refunded 1/0']);
  expect(await left(rules)).toBe(2);
});

test('a claim whose time is over, or that never was, gives nothing back', async () => {
  const rules = [rule()];
  const claim = await claimed(rules);
  expect(await redis.pttl(claimKey(claim))).toBeGreaterThan(0);
  await redis.del(claimKey(claim));
  expect(short(await there.refund(claim))).toBe('not_found');
  for (const name of ['', '*', 'x'.repeat(22), `${claim}x`, '\u0000']) expect(short(await there.refund(name))).toBe('not_found');
  expect(await left(rules)).toBe(1);
});

test('how a claim has ended is known for as long as it would have lived', async () => {
  const claim = await claimed([rule()]);
  await there.refund(claim);
  const ttlMs = await redis.pttl(claimKey(claim));
  expect(ttlMs).toBeGreaterThan(0);
  expect(ttlMs).toBeLessThanOrEqual(MINUTE_MS);
});

test('what was taken before an edit of the limit stays taken, and the answer says so', async () => {
  const before = rule();
  const claim = await claimed([before]);
  const [limit] = editLimits(before.limits, [{ ...NOTHING_COMES_BACK, capacity: 10 }], Date.now());
  const after = [{ ...before, limits: [limit!] }];
  const remaining = await left(after);
  expect(short(await there.refund(claim))).toBe('refunded 0/1');
  expect(await left(after)).toBe(remaining - 1);
});

test('a payment that succeeded is given back by its settlement, and one that failed is not', async () => {
  const rules = [rule({ charge: FAILED })];
  const [failed, succeeded, unknown] = [await claimed(rules), await claimed(rules), await claimed(rules)];
  expect(short(await there.settle(failed, answer(402)))).toBe('settled 0/0');
  expect(short(await there.settle(unknown))).toBe('settled 0/0');
  expect(short(await there.settle(succeeded, answer(200)))).toBe('settled 1/0');
  expect(await left(rules)).toBe(0);
  expect(await left(rules)).toBe(-1);
});

test('a settlement frees slots whatever the answer, and leaves tokens taken', async () => {
  const rules = [rule({}, [SLOTS, NOTHING_COMES_BACK])];
  const claim = await claimed(rules);
  expect(await left(rules)).toBe(0);
  expect(await left(rules)).toBe(-1);
  expect(short(await there.settle(claim, answer(500)))).toBe('settled 1/0');
  const { allowed, limits } = await ask(rules);
  expect([allowed, ...limits.map(({ decision }) => decision.remaining)]).toEqual([true, 0, 0]);
});

test.each([
  ['no JSON', '{'],
  ['a text', '"x"'],
  ['a format to come', '{"v":2,"t":[],"c":[]}'],
  ['a take without a key', '{"v":1,"t":[[null,"greedy",0,[1],null]],"c":[]}'],
  ['a take of an unknown kind', '{"v":1,"t":[["k","toString",0,[1],null]],"c":[]}'],
  ['a number that is none', '{"v":1,"t":[["k","greedy",0,["1"],null]],"c":[]}'],
  ['too many numbers', '{"v":1,"t":[["k","greedy",0,[1,2,3,4,5,6,7],null]],"c":[]}'],
  ['a condition that is not there', '{"v":1,"t":[["k","greedy",0,[1],0]],"c":[]}'],
  ['a condition that is none', '{"v":1,"t":[],"c":[{"field":"nonsense"}]}'],
])('%s in the place of a claim is no claim, and is told', async (_what, text) => {
  unreadable.length = 0;
  const name = 'a'.repeat(22);
  await redis.set(claimKey(name), text, 'PX', MINUTE_MS);
  expect(short(await there.refund(name))).toBe('not_found');
  expect(unreadable).toHaveLength(1);
  expect(await redis.get(claimKey(name))).toBe(text);
});

test('a key of another type is no claim', async () => {
  const name = 'b'.repeat(22);
  await redis.sadd(claimKey(name), 'x');
  expect(short(await there.settle(name))).toBe('not_found');
});

test('a Redis that is silent is waited for once, not once a call', async () => {
  const silent = { get: () => new Promise(() => {}), set: () => new Promise(() => {}) } as unknown as Redis;
  const claims = new RedisClaimStore(silent, { nowMs: Date.now, deadlineMs: 1 });
  await expect(claims.refund('a'.repeat(22))).rejects.toThrow('no answer within 1 ms');
  const { reservations } = await ask([rule()]);
  await expect(claims.keep(reservations, 1000)).rejects.toThrow('no answer within 1 ms');
});
