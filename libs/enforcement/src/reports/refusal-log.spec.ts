import { startLimits, type LimitReport, type Verdict } from '#limiter';
import { ruleOf } from '#limiter/testing';
import { RULES_UNAVAILABLE } from '../outcome.js';
import { personalHash } from './personal-hash.js';
import { RefusalLog } from './refusal-log.js';

const SECRET = 'the secret of this test';

const LIMITS = startLimits(
  [
    { name: 'burst', algorithm: 'token_bucket', capacity: 2, refillTokens: 1, refillIntervalMs: 1000, refill: 'greedy' },
    { name: 'a day', algorithm: 'fixed_window', limit: 5, start: 'clock', calendar: 'day' },
  ],
  0,
);

const RULE = ruleOf('17', { name: 'card payments', key: ['merchant', 'ip', 'header.x-device-id'], limits: LIMITS });

/** @param refusing the names of the limits that refuse */
function refusal(refusing: readonly string[]): Verdict {
  const limits = LIMITS.map((limit): LimitReport => {
    const allowed = !refusing.includes(limit.name);
    const decision = { allowed, limit: 5, remaining: allowed ? 1 : 0, retryAfterMs: allowed ? 0 : 500, resetAfterMs: 1000 };
    return { ruleId: '17', rule: RULE, origin: 'own', limit, cost: 1, decision };
  });
  return {
    allowed: false,
    reason: 'over_limit',
    source: 'store',
    retryAfterMs: 500,
    waitMs: 0,
    limits,
    shadowRefusals: 0,
    shadow: [],
    usedSpare: false,
    beganBlock: false,
    reservations: [],
  };
}

const of = (merchantId: string) => ({
  merchantId,
  ip: '192.0.2.7',
  method: 'POST',
  target: '/transactions?card=4111111111111111',
  more: { headerValues: (name: string) => (name === 'x-device-id' ? ['a phone'] : []), hostName: undefined },
});

function bed(perSecond = 20) {
  const clock = { nowMs: 0 };
  const lines: Record<string, unknown>[] = [];
  const logger = { info: (...[fields, message]: [object | string, string?]) => void lines.push({ ...(fields as object), message }) };
  return { clock, lines, log: new RefusalLog({ logger, perSecond, secret: SECRET, now: () => clock.nowMs }) };
}

test('a refusal is a line that names merchant, rule, limit, level, key and request', () => {
  const { lines, log } = bed();
  log.verdict('r-1', of('acme'), refusal(['a day']));
  expect(lines).toEqual([
    {
      message: 'request refused',
      requestId: 'r-1',
      merchant: 'acme',
      reason: 'over_limit',
      source: 'store',
      retryAfterMs: 500,
      ruleId: '17',
      rule: 'card payments',
      limit: 'a day',
      capacity: 5,
      remaining: 0,
      cost: 1,
      key: { merchant: 'acme', ip: personalHash('192.0.2.7', SECRET), 'header.x-device-id': personalHash('a phone', SECRET) },
    },
  ]);
});

test('a line holds no address, header, query or credential in clear', () => {
  const { lines, log } = bed();
  log.verdict('r-1', of('acme'), refusal(['burst', 'a day']));
  expect(JSON.stringify(lines)).not.toMatch(/192\.0\.2\.7|a phone|4111|tgk_|Bearer|\/transactions/);
  expect(lines[0]).toMatchObject({ limit: 'burst', otherLimits: ['card payments/a day'] });
});

test('above the bound lines are left out and counted, and one merchant takes no more than a quarter', () => {
  const { clock, lines, log } = bed(20);
  for (let i = 0; i < 1000; i++) log.verdict(`loud-${i}`, of('loud'), refusal(['burst']));
  for (let i = 0; i < 3; i++) log.verdict(`quiet-${i}`, of('quiet'), refusal(['burst']));
  expect(lines).toHaveLength(5 + 3);
  expect(log.takeLeftOut()).toBe(995);
  expect(log.takeLeftOut()).toBe(0);
  clock.nowMs = 1000;
  log.verdict('later', of('loud'), refusal(['burst']));
  expect(lines).toHaveLength(9);
});

test('unknown merchants and requests without a merchant share one quota of lines', () => {
  const { lines, log } = bed(20);
  for (let i = 0; i < 100; i++) log.withoutVerdict(`r-${i}`, 'unknown_merchant', `random ${i}`);
  log.withoutVerdict('r-100', 'no_identity');
  expect(lines).toHaveLength(5);
  expect(lines[0]).toEqual({ message: 'request refused', requestId: 'r-0', merchant: 'random 0', reason: 'unknown_merchant' });
});

test('with 0 lines a second there are none, and all are counted', () => {
  const { lines, log } = bed(0);
  log.withoutVerdict('r-1', RULES_UNAVAILABLE.reason, 'acme');
  expect([lines.length, log.takeLeftOut()]).toEqual([0, 1]);
});
