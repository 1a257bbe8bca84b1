import {
  MemoryBucketStore,
  merchantRules,
  RateLimiter,
  startLimits,
  type Descriptor,
  type KeyPart,
  type Rule,
  type Verdict,
} from '#limiter';
import { BusyKeys } from './busy-keys.js';

const PASS = 5;

const rule = (id: string, layer: Rule['layer'], key: readonly KeyPart[], capacity: number): Rule => ({
  id,
  name: 'logins',
  layer,
  priority: 100,
  enabled: true,
  mode: 'enforce',
  match: { methods: [], paths: [] },
  key,
  limits: startLimits(
    [{ name: 'an hour', algorithm: 'token_bucket', capacity, refillTokens: 1, refillIntervalMs: 3_600_000, refill: 'greedy' }],
    0,
  ),
  cost: 1,
  onStoreFailure: 'closed',
});

let nowMs: number;
beforeEach(() => (nowMs = 10_000));

function bed({ key = ['merchant', 'user'] as readonly KeyPart[], isMerchant = true, random = (): number => 0.5 } = {}) {
  const store = new MemoryBucketStore(() => 1_000_000);
  const limiter = new RateLimiter(store, store);
  const rules = [rule('7', 'user', key, PASS), rule('8', 'merchant', ['merchant'], 80_000)];
  const keys = new BusyKeys({ isMerchant: () => isMerchant, secret: 'a secret of the tests', now: () => nowMs, random });
  return {
    /** So many requests of a user, of which the first five pass. */
    send: (requests: number, user: string, merchantId = 'acme'): void => {
      for (let i = 0; i < requests; i++) {
        const descriptor: Descriptor = { merchantId, ip: '192.0.2.7', method: 'POST', target: '/login', user };
        limiter.check(merchantRules(merchantId, rules, []), descriptor, (outcome) => keys.count(descriptor, outcome as Verdict));
      }
    },
    taken: () => keys.take().map(({ rank, merchantId, ruleId, count, key: { user } }) => [rank, merchantId, ruleId, count, user]),
  };
}

const hash = expect.stringMatching(/^hmac:[\w-]{16}$/) as unknown;

test('keys are counted by how often they asked and were refused, hashed, and once', () => {
  const { send, taken } = bed();
  send(PASS + 2, 'ann');
  send(3, 'bob');
  const counts = taken();
  expect(counts).toEqual([
    ['requests', 'acme', '7', PASS + 2, hash],
    ['requests', 'acme', '7', 3, hash],
    ['refused', 'acme', '7', 2, hash],
  ]);
  expect(counts[2]![4]).toBe(counts[0]![4]);
  expect(counts[1]![4]).not.toBe(counts[0]![4]);
  expect(taken()).toEqual([]);
});

test('one bucket for the whole merchant is no key, and ids of nobody have none', () => {
  const whole = bed({ key: ['merchant', 'method'] });
  whole.send(PASS + 2, 'ann');
  expect(whole.taken()).toEqual([]);
  const nobody = bed({ isMerchant: false });
  nobody.send(PASS + 2, 'ann');
  expect(nobody.taken()).toEqual([]);
});

test('a merchant with a flood of keys takes no place of another merchant, and its own busiest key is found', () => {
  const { send, taken } = bed();
  send(4, 'ann', 'small');
  for (let i = 0; i < 90; i++) {
    nowMs += 1_000;
    send(1, `flood ${i}`);
    send(1, 'zoe');
  }
  const requests = taken().filter(([rank]) => rank === 'requests');
  expect(requests.filter(([, merchantId]) => merchantId === 'small')).toEqual([['requests', 'small', '7', 4, hash]]);
  const ofFlood = requests.filter(([, merchantId]) => merchantId === 'acme');
  expect(ofFlood).toHaveLength(16);
  // Nothing is overestimated: what came late is told without the count of those whose place it took.
  expect(ofFlood.map(([, , , count]) => count).sort((a, b) => Number(b) - Number(a))).toEqual([90, ...Array<number>(15).fill(1)]);
});

test('beyond the first requests of a second some stand for many', () => {
  // The middle of the bounds: each 64th.
  const { send, taken } = bed({ random: () => 0.5 });
  send(200, 'ann');
  send(1 + 64 * 10, 'bob');
  const [first, second] = taken().filter(([rank]) => rank === 'requests');
  // The 201st still stands for itself.
  expect([first, second]).toEqual([
    ['requests', 'acme', '7', 64 * 10 + 1, hash],
    ['requests', 'acme', '7', 200, hash],
  ]);
  nowMs += 1_000;
  send(64, 'cyd');
  send(10, 'dan');
  const counts = taken().filter(([rank]) => rank === 'requests');
  expect(counts.map(([, , , count]) => count)).toEqual([64, 10]);
});

test('a flood of merchants takes a bounded number of places', () => {
  const { send, taken } = bed();
  for (let i = 0; i < 400; i++) {
    nowMs += 1_000;
    send(1, 'ann', `merchant ${i}`);
  }
  expect(taken()).toHaveLength(300);
});
