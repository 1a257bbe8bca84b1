import { startLimits } from '#limiter';
import { burst } from '#limiter/testing';
import { headersIn } from './legacy-headers.js';
import type { ShownLimit } from './rate-limit-headers.js';

function shown(name: string, decision: Partial<ShownLimit['decision']>): ShownLimit {
  const [limit] = startLimits([burst({ name, capacity: 10, refillTokens: 5, refillIntervalMs: 1000 })], 0);
  return {
    ruleId: '1',
    limit: limit!,
    decision: { allowed: true, limit: 10, remaining: 9, retryAfterMs: 0, resetAfterMs: 200, ...decision },
  };
}

const NOW_MS = 1_700_000_000_500;
const legacy = headersIn('legacy');

test('X-RateLimit-* tell of one limit, and when all of it is there again', () => {
  expect(legacy([shown('a', { remaining: 3, resetAfterMs: 1400 })])).toEqual([
    ...['X-RateLimit-Limit', '10', 'X-RateLimit-Remaining', '3', 'X-RateLimit-Reset', '2'],
  ]);
  expect(headersIn('legacy', 'epoch', () => NOW_MS)([shown('a', { resetAfterMs: 1400 })])[5]).toBe('1700000002');
});

test.each([
  ['the one that refuses', [{ remaining: 0 }, { allowed: false, remaining: 2 }], '2'],
  ['the one with less left', [{ remaining: 4 }, { remaining: 3 }, { remaining: 5 }], '3'],
])('of several limits they tell of %s', (_which, decisions, remaining) => {
  expect(legacy(decisions.map((decision, i) => shown(String(i), decision)))[3]).toBe(remaining);
});

test('of two limits with as little left X-RateLimit-* tell of the one that takes longer', () => {
  expect(legacy([shown('a', { resetAfterMs: 1000 }), shown('b', { resetAfterMs: 9000 })])[5]).toBe('9');
});

test.each([
  ['draft', ['RateLimit-Policy', 'RateLimit', 'X-RateLimit-Over-Limit']],
  ['legacy', ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-RateLimit-Over-Limit']],
  ['both', ['RateLimit-Policy', 'RateLimit', 'X-RateLimit-Over-Limit', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']],
  ['none', []],
] as const)('%s: a request above a soft limit gets %j', (style, names) => {
  const headers = headersIn(style)([shown('a', { overLimit: true })]);
  expect(headers.filter((_, i) => i % 2 === 0)).toEqual(names);
});

test.each(['draft', 'legacy', 'both', 'none'] as const)('%s: without limits there are no headers', (style) => {
  expect(headersIn(style)([])).toEqual([]);
});
