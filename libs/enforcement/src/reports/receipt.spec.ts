import { rerouted, startLimits, type Verdict } from '#limiter';
import { burst, ruleOf, verdictsOf } from '#limiter/testing';
import { parseReceipt, receiptText } from '#limiter-redis';
import { UNKNOWN_MERCHANT } from '../outcome.js';
import { personalHash } from './personal-hash.js';
import { receiptOf } from './receipt.js';

const SECRET = 'a secret of the test';
const RULE = ruleOf('17', {
  name: 'card payments',
  key: ['merchant', 'ip', 'method'],
  limits: startLimits(
    [{ name: 'roomy', algorithm: 'fixed_window', limit: 100, windowMs: 60_000, start: 'clock' }, burst({ refillTokens: 1 })],
    0,
  ),
  cost: 4,
  onStoreFailure: 'closed',
});
const descriptor = { merchantId: 'acme', ip: '192.0.2.7', method: 'POST', target: '/transactions/7?card=4111' };

const verdicts = (requests: number): Verdict[] => verdictsOf([RULE], requests, descriptor);
const context = { nowMs: 1500, isMerchant: () => true, secret: SECRET, passedOneIn: 1000 };
const noted = (outcome: Parameters<typeof receiptOf>[0]['outcome'], changes: Partial<typeof descriptor> = {}) =>
  receiptOf({ requestId: 'r1', descriptor: { ...descriptor, ...changes }, outcome, atMs: 1000 }, context);

test('a receipt of a refusal tells what each limit said, those that refused first, and takes nothing', () => {
  const receipt = noted(verdicts(3)[2]!);
  expect(receipt).toMatchObject({
    requestId: 'r1',
    merchantId: 'acme',
    ageMs: 500,
    allowed: false,
    reason: 'over_limit',
    source: 'store',
    method: 'POST',
    path: '/transactions/7',
    retryAfterMs: 2000,
  });
  expect(
    receipt.limits.map(({ limit, allowed, cost, remainingBefore, remainingAfter }) => [
      limit,
      allowed,
      cost,
      remainingBefore,
      remainingAfter,
    ]),
  ).toEqual([
    ['burst', false, 4, 2, 2],
    ['roomy', true, 4, 92, 92],
  ]);
});

test('a receipt of a request that passed tells what each limit had before and after', () => {
  const [first, second] = verdicts(2).map((verdict) =>
    noted(verdict).limits.map(({ remainingBefore, remainingAfter }) => [remainingBefore, remainingAfter]),
  );
  expect([first, second]).toEqual([
    [
      [100, 96],
      [10, 6],
    ],
    [
      [96, 92],
      [6, 2],
    ],
  ]);
});

test('a receipt has neither the query nor the address of the client, but a keyed hash of the address', () => {
  const receipt = noted(verdicts(1)[0]!);
  expect(receipt.limits[0]!.key).toEqual({ merchant: 'acme', ip: personalHash('192.0.2.7', SECRET), method: 'POST' });
  const text = JSON.stringify(receipt);
  for (const personal of ['4111', '192.0.2.7']) expect(text).not.toContain(personal);
  expect(personalHash('192.0.2.7', 'another secret')).not.toBe(personalHash('192.0.2.7', SECRET));
  expect(personalHash('192.0.2.8', SECRET)).not.toBe(personalHash('192.0.2.7', SECRET));
});

test('a receipt says for how many requests it stands, and has clients as keyed hashes', () => {
  const [passed, , refused] = verdicts(3).map((verdict) => noted(verdict).sample);
  const ip = personalHash('192.0.2.7', SECRET);
  expect([passed, refused]).toMatchObject([
    { oneIn: 1000, client: { ip } },
    { oneIn: 1, client: { ip } },
  ]);
  const more = { ip: '2001:db8::7', user: 'u-17', apiKey: { id: '5' } };
  const { client, hashedWith } = noted(UNKNOWN_MERCHANT, more).sample!;
  expect(client).toEqual({
    ip: personalHash('2001:db8::7', SECRET),
    'ip.prefix': personalHash('2001:db8:0:0::/64', SECRET),
    user: personalHash('u-17', SECRET),
    apiKey: personalHash('5', SECRET),
  });
  const other = receiptOf({ requestId: 'r1', descriptor, outcome: UNKNOWN_MERCHANT, atMs: 0 }, { ...context, secret: 'another secret' });
  expect([hashedWith, other.sample!.hashedWith === hashedWith]).toEqual([refused!.hashedWith, false]);
});

test('a path that is too long is cut, and says so', () => {
  expect(noted(UNKNOWN_MERCHANT, { target: `/${'x'.repeat(5000)}` })).toMatchObject({ pathIsCut: true, path: `/${'x'.repeat(1023)}` });
  expect(noted(UNKNOWN_MERCHANT)).toMatchObject({ pathIsCut: false, reason: 'unknown_merchant', limits: [] });
});

test('every receipt that is written can be read', () => {
  for (const outcome of [...verdicts(3), UNKNOWN_MERCHANT]) {
    const receipt = noted(outcome);
    const { ageMs: _, isKnownMerchant: __, ...rest } = receipt;
    expect(parseReceipt(['i', 'r1', 'm', 'acme', 'o', outcome.allowed ? '1' : '0', 't', '7', 'r', receiptText(receipt)])).toEqual({
      value: { ...rest, atMs: 7 },
    });
  }
});

test('a receipt of a request that was rerouted says where it went and which limit refused it, and stands for no other', () => {
  const receipt = noted(rerouted(verdicts(3)[2]!, 'slow'));
  expect(receipt).toMatchObject({ allowed: true, reason: 'rerouted', reroutedTo: 'slow', sample: { oneIn: 1 } });
  expect(receipt.limits[0]).toMatchObject({ limit: 'burst', allowed: false, remainingBefore: 2, remainingAfter: 2 });
  const read = parseReceipt(['i', 'r1', 'm', 'acme', 'o', '1', 't', '5', 'r', receiptText(receipt)]);
  expect(read).toMatchObject({ value: { reroutedTo: 'slow' } });
  expect(JSON.parse(receiptText(noted(verdicts(1)[0]!)))).not.toHaveProperty('reroutedTo');
});
