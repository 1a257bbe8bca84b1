import { RECEIPT_IDS_KEY, RECEIPTS_KEY, RedisReceiptStore, receiptShareKey, type NewReceipt } from '#limiter-redis';
import { redisForFile } from '../../support/redis-for-file.js';

const { redis } = await redisForFile();

const BOUNDS = { most: 1000, perMinute: 20 };
const ALL = { merchants: null };

let store: RedisReceiptStore;
let unreadable: string[];

beforeAll(async () => {
  store = new RedisReceiptStore(redis, ({ reason }) => unreadable.push(reason));
});
beforeEach(async () => {
  unreadable = [];
  await redis.flushall();
});

const receipt = (requestId: string, changes: Partial<NewReceipt> = {}): NewReceipt => ({
  requestId,
  ageMs: 0,
  isKnownMerchant: true,
  merchantId: 'acme',
  allowed: false,
  method: 'POST',
  path: '/transactions',
  pathIsCut: false,
  ignorePathCase: false,
  reason: 'over_limit',
  source: 'store',
  retryAfterMs: 200,
  limits: [
    {
      ruleId: '17',
      rule: 'card payments',
      limit: 'burst',
      generation: 2,
      allowed: false,
      capacity: 10,
      cost: 1,
      remainingBefore: 0,
      remainingAfter: 0,
      retryAfterMs: 200,
      key: { merchant: 'acme' },
    },
  ],
  ...changes,
});
const ids = (items: readonly { requestId: string }[]) => items.map(({ requestId }) => requestId);
const many = (count: number, prefix: string, changes: Partial<NewReceipt> = {}) =>
  Array.from({ length: count }, (_, i) => receipt(`${prefix}${i}`, changes));

test('a receipt is found by the id of its request, whole, and with the time at which it was made', async () => {
  expect(await store.add([receipt('a', { ageMs: 90_000 }), receipt('b')], BOUNDS)).toBe(2);
  const { ageMs: _, isKnownMerchant: __, ...written } = receipt('a');
  const found = await store.find('a', null);
  expect(found).toEqual({ ...written, atMs: expect.any(Number) });
  expect(Math.abs(Date.now() - 90_000 - found!.atMs)).toBeLessThan(30_000);
  expect(await store.find('c', null)).toBeUndefined();
});

test('the newest receipt of an id is found that its reader may see', async () => {
  await store.add([receipt('same', { reason: 'first' })], BOUNDS);
  await store.add([receipt('same', { merchantId: 'other', reason: 'second' })], BOUNDS);
  expect((await store.find('same', null))?.reason).toBe('second');
  expect((await store.find('same', ['acme']))?.reason).toBe('first');
  expect(await store.find('same', ['third'])).toBeUndefined();
  // Whoever sends one id again and again makes no list grow.
  await store.add(
    many(10, 'x').map((each) => ({ ...each, requestId: 'same' })),
    BOUNDS,
  );
  expect((await redis.hget(RECEIPT_IDS_KEY, 'same'))!.split(' ')).toHaveLength(4);
});

test('whose receipts may be seen can be chosen as they are read', async () => {
  await store.add([receipt('a'), receipt('b', { merchantId: 'other' }), receipt('c'), receipt('d', { merchantId: 'third' })], BOUNDS);
  const asked: (readonly string[])[] = [];
  const merchants = (ids: readonly string[]) => {
    asked.push([...ids].sort());
    return Promise.resolve(ids.filter((id) => id !== 'other'));
  };
  expect(ids((await store.newest(10, { merchants })).items)).toEqual(['a', 'c', 'd']);
  expect(asked).toEqual([['acme', 'other', 'third']]);
  const first = await store.after('0-0', 2, { merchants });
  expect([ids(first.items), first.more]).toEqual([['a', 'c'], true]);
  expect(ids((await store.after(first.cursor, 2, { merchants })).items)).toEqual(['d']);
  expect((await store.find('d', merchants))?.requestId).toBe('d');
  expect(await store.find('b', merchants)).toBeUndefined();
});

test('a flood of one merchant pushes nobody out: beyond its share nothing is written', async () => {
  await store.add(many(5, 'quiet', { merchantId: 'quiet' }), BOUNDS);
  expect(await store.add(many(900, 'loud', { merchantId: 'loud' }), BOUNDS)).toBe(500);
  // Of the five hundred in half an hour, what a few seconds bring.
  expect(await store.add(many(50, 'more', { merchantId: 'loud' }), BOUNDS)).toBeLessThanOrEqual(5);
  expect(await store.add(many(5, 'late', { merchantId: 'quiet' }), BOUNDS)).toBe(5);
  expect(await store.find('quiet0', null)).toBeDefined();
  // A share that was written before the clock stepped back ends all the same.
  await redis.set(receiptShareKey('loud'), String(Date.now() + 10 * 365 * 86_400_000));
  await store.add([receipt('x', { merchantId: 'loud' })], BOUNDS);
  expect(await redis.ttl(receiptShareKey('quiet'))).toBeLessThan(30 * 60);
});

test('requests that passed use up at most half of the share of a merchant, and leave the rest to refusals', async () => {
  const bounds = { most: 1000, perMinute: 2 };
  expect(await store.add(many(60, 'passed', { allowed: true }), bounds)).toBe(25);
  expect(await store.add(many(60, 'refused', { allowed: false }), bounds)).toBe(25);
});

test('unknown merchants share one quota of receipts', async () => {
  const unknown = Array.from({ length: 600 }, (_, i) => receipt(`r${i}`, { merchantId: `random ${i}`, isKnownMerchant: false }));
  expect(await store.add(unknown, BOUNDS)).toBe(500);
  expect((await redis.keys('tg:receipts:share:*')).length).toBe(1);
});

test('no more than the bound are kept, the oldest go first, and the hash knows only what is there', async () => {
  for (let i = 0; i < 6; i++) await store.add(many(50, `m${i}-`, { merchantId: `m${i}` }), { ...BOUNDS, most: 120 });
  expect([await redis.xlen(RECEIPTS_KEY), await redis.hlen(RECEIPT_IDS_KEY)]).toEqual([120, 120]);
  expect(await store.find('m3-29', null)).toBeUndefined();
  expect(await store.find('m3-30', null)).toBeDefined();
  await store.add([receipt('last', { merchantId: 'z' })], { ...BOUNDS, most: 100 });
  expect([await redis.xlen(RECEIPTS_KEY), await redis.hlen(RECEIPT_IDS_KEY)]).toEqual([100, 100]);
});

test('what is older than a day goes, and everything goes if nobody writes any more', async () => {
  const dayAgo = Date.now() - 86_400_000 - 60_000;
  for (let i = 0; i < 3; i++) await redis.xadd(RECEIPTS_KEY, `${dayAgo}-${i}`, 'i', `old${i}`, 'm', 'acme', 'o', '0', 't', '0', 'r', '{}');
  await redis.hset(RECEIPT_IDS_KEY, 'old1', `${dayAgo}-1`);
  await store.add([receipt('new')], BOUNDS);
  expect([await redis.xlen(RECEIPTS_KEY), await redis.hkeys(RECEIPT_IDS_KEY)]).toEqual([1, ['new']]);
  for (const key of await redis.keys('*')) {
    const ttl = await redis.ttl(key);
    expect([key, ttl > 0 && ttl <= 25 * 3600]).toEqual([key, true]);
  }
});

test('receipts are read on from a cursor, by merchant and outcome, and the cursor moves on even where none matches', async () => {
  await store.add([receipt('a1'), receipt('b1', { merchantId: 'b' }), receipt('a2'), receipt('a3', { allowed: true })], BOUNDS);
  const first = await store.after('0-0', 2, { merchants: ['acme'], allowed: false });
  expect([ids(first.items), first.more]).toEqual([['a1', 'a2'], true]);
  const second = await store.after(first.cursor, 2, { merchants: ['acme'], allowed: false });
  expect([ids(second.items), second.more]).toEqual([[], false]);
  await store.add([receipt('a4')], BOUNDS);
  expect(ids((await store.after(second.cursor, 2, ALL)).items)).toEqual(['a4']);
  const newest = await store.newest(2, ALL);
  expect(ids(newest.items)).toEqual(['a3', 'a4']);
  expect((await store.after(newest.cursor, 2, ALL)).items).toEqual([]);
  expect(ids((await store.after('0-0', 10, ALL)).items)).toHaveLength(5);
});

test('a search looks at a bounded number of receipts, and the next one goes on there', async () => {
  const ms = Date.now() - 10_000;
  const pipeline = redis.pipeline();
  for (let i = 0; i < 2500; i++) pipeline.xadd(RECEIPTS_KEY, `${ms}-${i}`, 'i', 'x');
  await pipeline.exec();
  await store.add([receipt('wanted')], { ...BOUNDS, most: 10_000 });
  const first = await store.after('0-0', 10, ALL);
  expect([first.items, first.cursor, first.more]).toEqual([[], `${ms}-1999`, true]);
  expect(ids((await store.after(first.cursor, 10, ALL)).items)).toEqual(['wanted']);
  expect(ids((await store.newest(10, ALL)).items)).toEqual(['wanted']);
});

test('a receipt of a newer format, a broken one and another type are nothing, and do not stop anything', async () => {
  await store.add([receipt('good')], BOUNDS);
  const [[, good]] = (await redis.xrange(RECEIPTS_KEY, '-', '+')) as [[string, string[]]];
  const rest = good[9]!;
  const odd = [
    rest.replace('"v":1', '"v":2'),
    rest.replace('"cost":1', '"cost":"1"'),
    '{',
    'null',
    rest.replace('/transactions', 'x'.repeat(2000)),
  ];
  for (const text of odd) await redis.xadd(RECEIPTS_KEY, '*', 'i', 'odd', 'm', 'acme', 'o', '0', 't', '5', 'r', text);
  await redis.xadd(RECEIPTS_KEY, '*', 'i', 'odd', 'm', 'acme', 'o', '0', 't', 'never', 'r', rest);
  expect(ids((await store.after('0-0', 10, ALL)).items)).toEqual(['good']);
  expect(unreadable).toEqual(['newer_format', 'malformed', 'malformed', 'malformed', 'malformed', 'malformed']);
  await redis.hset(RECEIPT_IDS_KEY, 'odd', 'no id 5-5');
  expect(await store.find('odd', null)).toBeUndefined();
  await redis.set(RECEIPTS_KEY, 'a text');
  await redis.set(RECEIPT_IDS_KEY, 'a text');
  expect([await store.find('good', null), (await store.newest(5, ALL)).items]).toEqual([undefined, []]);
  await store.add([receipt('again')], BOUNDS);
  expect(await store.find('again', null)).toBeDefined();
});

test('the receipts of one merchant are read backwards, past those of others, page by page', async () => {
  const sample = { oneIn: 1000, client: { ip: 'hmac:a' }, hashedWith: 'k1' };
  await store.add([receipt('m', { sample }), ...many(150, 'a'), ...many(150, 'b', { merchantId: 'm' })], { most: 1000, perMinute: 1000 });
  await redis.xadd(RECEIPTS_KEY, '*', 'i', 'x', 'm', 'acme', 'r', 'no receipt');
  const first = await store.before(undefined, 'acme');
  const second = await store.before(first.cursor, 'acme');
  expect([ids(first.items).length, first.items[0]?.requestId, first.items[0]?.sample]).toEqual([49, 'a149', undefined]);
  expect([ids(second.items).length, second.items.at(-1)?.requestId, second.items.at(-1)?.sample, second.cursor]).toEqual([
    102,
    'm',
    sample,
    undefined,
  ]);
  expect(unreadable).toEqual(['malformed']);
});
