import type { KeyPart } from '#limiter';
import { ruleOf } from '#limiter/testing';
import { requestsOfUsers } from '../../testing/requests-of-users.js';
import { BusyKeys } from './busy-keys.js';

const PASS = 5;
const HOUR_MS = 3_600_000;

let nowMs: number;
beforeEach(() => (nowMs = 10_000));

function bed({ key = ['merchant', 'user'] as readonly KeyPart[], isMerchant = true, random = (): number => 0.5 } = {}) {
  const rules = [
    ruleOf('7', { layer: 'user', key, capacity: PASS, refillIntervalMs: HOUR_MS }),
    ruleOf('8', { capacity: 80_000, refillIntervalMs: HOUR_MS }),
  ];
  const keys = new BusyKeys({ isMerchant: () => isMerchant, secret: 'a secret of the tests', now: () => nowMs, random });
  return {
    /** So many requests of a user, of which the first five pass. */
    send: requestsOfUsers(rules, (descriptor, verdict) => keys.count(descriptor, verdict)),
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
