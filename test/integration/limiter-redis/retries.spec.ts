import {
  bucketKey,
  bucketOf,
  merchantRules,
  RateLimiter,
  MemoryBucketStore,
  startLimits,
  type LimitSpec,
  type RetryPolicy,
  type Rule,
  type Verdict,
} from '#limiter';
import { burst, FakeClock, ruleOf } from '#limiter/testing';
import { loadScripts, RedisBucketStore } from '#limiter-redis';
import { redisForFile } from '../../support/redis-for-file.js';

const { redis } = await redisForFile();

const stores: RedisBucketStore[] = [];

beforeAll(async () => {
  await loadScripts(redis);
});

afterEach(() => stores.splice(0).forEach((store) => store.close()));

const POLICY: RetryPolicy = { forMs: 60_000, mostRetries: 3, mostRemembered: 100 };
const NOTHING_COMES_BACK = burst({ capacity: 3, refillTokens: 1, refillIntervalMs: 86_400_000 });
const FAILED = { on: 'response', when: { field: 'response.status', from: 400, to: 499 } } as const;

const rule = (parts: Partial<Rule> = {}, limits: readonly LimitSpec[] = [NOTHING_COMES_BACK]): Rule =>
  ruleOf('1', { limits: startLimits(limits, 0), onStoreFailure: 'closed', ...parts });

/** Asks as a request with this key, or none. */
type Ask = (retryKey?: string, merchantId?: string) => Promise<Verdict>;

async function asking(
  rules: readonly Rule[],
  policy: Partial<RetryPolicy> = {},
): Promise<Ask & { store: RedisBucketStore; clock: FakeClock }> {
  await redis.flushall();
  const clock = new FakeClock();
  clock.nowMs = 1_763_000_000_000;
  const store = new RedisBucketStore(redis, { clock: clock.now, deadlineMs: 5000 });
  stores.push(store);
  const limiter = new RateLimiter(store, new MemoryBucketStore(clock.now), { retries: { ...POLICY, ...policy } });
  const ask: Ask = (retryKey, merchantId = 'acme') =>
    new Promise((resolve) =>
      limiter.check(merchantRules(merchantId, rules, []), { merchantId, ip: '', method: 'POST', target: '/', retryKey }, (outcome) =>
        resolve(outcome as Verdict),
      ),
    );
  return Object.assign(ask, { store, clock });
}

const left = ({ allowed, limits, retried }: Verdict): string =>
  `${allowed ? 'passes' : 'refused'} ${limits[0]!.decision.remaining}${retried ? ' as a retry' : ''}`;

const settle = async (): Promise<void> => {
  // Refunds are sent in a later turn of the event loop, before this.
  await new Promise((resolve) => setImmediate(resolve));
  await redis.ping();
};

const answer = (status: number) => ({ head: { status, headerValues: () => [] } });

test('a retry of a request that was charged is not charged again, and passes where nothing is left', async () => {
  const ask = await asking([rule()]);
  expect(left(await ask('a'))).toBe('passes 2');
  expect(left(await ask('a'))).toBe('passes 2 as a retry');
  expect(left(await ask('b'))).toBe('passes 1');
  expect(left(await ask())).toBe('passes 0');
  expect(left(await ask('a'))).toBe('passes 0 as a retry');
  expect(left(await ask())).toBe('refused 0');
});

test('a request that was refused was not charged, so its retry is like any other', async () => {
  const ask = await asking([rule({ cost: 3 })]);
  await ask();
  expect(left(await ask('a'))).toBe('refused 0');
  expect(left(await ask('a'))).toBe('refused 0');
  ask.clock.advance(3 * 86_400_000);
  expect(left(await ask('a'))).toBe('passes 0');
  expect(left(await ask('a'))).toBe('passes 0 as a retry');
});

test('one key for everything gains as many requests as there may be retries, once', async () => {
  const ask = await asking([rule()]);
  const passed = [];
  for (let i = 0; i < 20; i++) passed.push((await ask('a')).allowed);
  expect(passed.filter(Boolean)).toHaveLength(3 + POLICY.mostRetries);
});

test('of a merchant no more requests are remembered than may be, and the rest is charged and given back as ever', async () => {
  const ask = await asking([rule()], { mostRemembered: 1 });
  await ask('a');
  const second = await ask('b');
  expect(left(second)).toBe('passes 1');
  expect(left(await ask('b'))).toBe('passes 0');
  expect(left(await ask('a'))).toBe('passes 0 as a retry');
  expect(left(await ask('b', 'other'))).toBe('passes 2');
  expect(left(await ask('b', 'other'))).toBe('passes 2 as a retry');
  second.reservations[0]!.refund();
  await settle();
  expect(left(await ask())).toBe('passes 0');
});

test('what is remembered ends with its time, also where nobody comes again', async () => {
  const ask = await asking([rule()]);
  await ask('a');
  const names = (await redis.keys('tg:{acme}:acme:*')).sort();
  expect(names).toHaveLength(2);
  for (const name of names) {
    const msToLive = await redis.pttl(name);
    expect(msToLive).toBeGreaterThan(0);
    expect(msToLive).toBeLessThanOrEqual(POLICY.forMs);
  }
  await redis.del(...names);
  expect(left(await ask('a'))).toBe('passes 1');
});

test('a request and its retry of the same moment are charged once', async () => {
  const ask = await asking([rule()]);
  const verdicts = await Promise.all([ask('a'), ask('a'), ask('b'), ask('a')]);
  expect(verdicts.map(left)).toEqual(['passes 2', 'passes 2 as a retry', 'passes 1', 'passes 1 as a retry']);
});

test('a refund gives back what the request took, and its retry is charged', async () => {
  const ask = await asking([rule()]);
  const first = await ask('a');
  first.reservations[0]!.refund();
  await settle();
  expect(left(await ask('a'))).toBe('passes 2');
  expect(left(await ask('a'))).toBe('passes 2 as a retry');
});

test('where a retry went by uncharged, the charge is for that one: nothing is given back', async () => {
  const ask = await asking([rule()]);
  const [first, retry] = [await ask('a'), await ask('a')];
  first.reservations[0]!.refund();
  retry.reservations[0]!.refund();
  await settle();
  expect(left(await ask())).toBe('passes 1');
});

test('a charge that ends after its mark is not given back on the mark of a later request', async () => {
  const ask = await asking([rule()]);
  const first = await ask('a');
  await ask('a');
  await redis.del(...(await redis.keys('tg:{acme}:acme:*')));
  ask.clock.advance(1);
  expect(left(await ask('a'))).toBe('passes 1');
  first.reservations[0]!.refund();
  await settle();
  expect(left(await ask())).toBe('passes 0');
});

test('charges that wait for the answer: one that failed stays, and its retry is not charged; one that did not is given back', async () => {
  const limits = startLimits([NOTHING_COMES_BACK], 0);
  const ask = await asking([rule({ charge: FAILED }), rule({ id: '2', layer: 'user', limits, charge: FAILED })]);
  const failed = await ask('a');
  failed.reservations[0]!.release(answer(402));
  await settle();
  const retry = await ask('a');
  expect(left(retry)).toBe('passes 2 as a retry');
  retry.reservations[0]!.release(answer(402));
  const fine = await ask('b');
  fine.reservations[0]!.release(answer(200));
  await settle();
  // Of both rules, in one refund.
  const next = await ask('b');
  expect(left(next)).toBe('passes 1');
  expect(next.limits[1]!.decision.remaining).toBe(1);
});

test('a retry holds a slot while it is under way, and gives it back', async () => {
  const ask = await asking([rule({}, [{ name: 'at once', algorithm: 'concurrency', limit: 2, slotTimeoutMs: 60_000 }])]);
  await ask('a');
  const retry = await ask('a');
  expect(left(retry)).toBe('passes 0 as a retry');
  expect(left(await ask('a'))).toBe('refused 0 as a retry');
  retry.reservations[0]!.release();
  await settle();
  expect(left(await ask())).toBe('passes 0');
});

test('a retry takes from none of several limits, and a block refuses it', async () => {
  const limited = rule({}, [NOTHING_COMES_BACK, { ...NOTHING_COMES_BACK, name: 'steps', refill: 'interval' }]);
  const ask = await asking([limited]);
  await ask('a');
  const retry = await ask('a');
  expect(retry.limits.map(({ decision }) => decision.remaining)).toEqual([2, 2]);
  const key = bucketKey(limited, limited.limits[1]!.id, { merchantId: 'acme', ip: '', method: 'POST', target: '/' });
  await ask.store.operate(key, bucketOf(limited.limits[1]!), { kind: 'block', forMs: 60_000 });
  expect(await ask('a')).toMatchObject({ allowed: false, reason: 'blocked' });
});

test('requests that ask other buckets are no retries of each other, whatever their key', async () => {
  const ask = await asking([rule({ key: ['merchant'] })]);
  const other = await asking([rule({ id: '2' })]);
  await ask('a');
  expect(left(await other('a'))).toBe('passes 2');
});
