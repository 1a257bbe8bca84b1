import type { KeyPart } from '#limiter';
import { ruleOf } from '#limiter/testing';
import { requestsOfUsers } from '../../testing/requests-of-users.js';
import { KeySpikes, SPIKE_REFUSALS, SPIKE_WINDOW_MS } from './key-spikes.js';

const PASS = 5;

let nowMs: number;
beforeEach(() => (nowMs = 10_000));

function spikes({ key = ['merchant', 'user'] as readonly KeyPart[], isMerchant = true, random = (): number => 0.5 } = {}) {
  const rule = ruleOf('7', { key, capacity: PASS, refillIntervalMs: 3_600_000 });
  const found = new KeySpikes({ isMerchant: () => isMerchant, secret: 'a secret of the tests', now: () => nowMs, random });
  found.take();
  return {
    /** So many requests of a user, of which the first five pass. */
    send: requestsOfUsers([rule], (descriptor, verdict) => {
      if (!verdict.allowed) found.refused(descriptor, verdict);
    }),
    told: () => found.take().map(({ kind, merchantId, key: parts, refused }) => ({ kind, merchantId, refused, user: parts!['user'] })),
  };
}

const hash = expect.stringMatching(/^hmac:/) as unknown;

test('a key that is refused again and again is told once, hashed; one refusal less is not', () => {
  const { send, told } = spikes();
  send(SPIKE_REFUSALS + PASS - 1, 'ann');
  send(50, 'bob');
  expect(told()).toEqual([]);
  send(1, 'ann');
  expect(told()).toEqual([{ kind: 'key.refused', merchantId: 'acme', refused: SPIKE_REFUSALS, user: hash }]);
  send(10, 'ann');
  expect(told()).toEqual([]);
});

test('refusals of many keys are no spike, however many they are', () => {
  const { send, told } = spikes();
  for (let i = 0; i < 60; i++) {
    nowMs += 1_000;
    send(20, `user ${i}`);
  }
  expect(told()).toEqual([]);
});

test('refusals before the window do not count', () => {
  const { send, told } = spikes();
  send(SPIKE_REFUSALS - 10, 'ann');
  expect(told()).toEqual([]);
  nowMs += SPIKE_WINDOW_MS;
  expect(told()).toEqual([]);
  send(SPIKE_REFUSALS - 10, 'ann');
  expect(told()).toEqual([]);
});

test('keys are counted for each merchant apart, and not at all for ids that no merchant has', () => {
  const { send, told } = spikes();
  send(60 + PASS, 'ann', 'acme');
  send(60 + PASS, 'ann', 'other');
  expect(told()).toEqual([]);
  const nobody = spikes({ isMerchant: false });
  nobody.send(500, 'ann');
  expect(nobody.told()).toEqual([]);
});

test('a bucket of the whole merchant is not counted as a key', () => {
  const { send, told } = spikes({ key: ['merchant', 'method'] });
  send(500, 'ann');
  expect(told()).toEqual([]);
});

test('in a flood some refusals stand for many', () => {
  let next = 0;
  const { send, told } = spikes({ random: () => (next++ % 64 === 0 ? 0 : 0.9) });
  // 200 that are looked at, of others; then one of 64 of ann's.
  for (let i = 0; i < 20; i++) send(10 + PASS, `other ${i}`);
  send(64 * 3 + PASS, 'ann');
  const [spike, ...more] = told();
  expect([spike?.user, more]).toEqual([hash, []]);
  expect(spike!.refused).toBe(64 * 3);
});
