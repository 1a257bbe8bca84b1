import { pathMatcher, pathPatternFault, pathSegments } from './path-pattern.js';

test.each([
  ['/transactions/**', '/transactions', true],
  ['/transactions/**', '/transactions/', true],
  ['/transactions/**', '/transactions/7/refunds', true],
  ['/transactions/**', '/transactionsx', false],
  ['/transactions/*', '/transactions/7', true],
  ['/transactions/*', '/transactions', false],
  ['/transactions/*', '/transactions/7/refunds', false],
  ['/**', '/', true],
  ['/**/refunds', '/a/b/refunds', true],
  ['/**/refunds', '/refunds', true],
  ['/a/**/z', '/a/z', true],
  ['/a/**/z', '/a', false],
  ['/v1/pay-*', '/v1/pay-card', true],
  ['/v1/pay-*', '/v1/pay-', true],
  ['/v1/pay-*-now', '/v1/pay-now', false],
  ['/', '/', true],
  ['/', '/a', false],
  ['/Transactions', '/transactions', false],
])('%s and %s: %s', (pattern, path, expected) => {
  expect(pathMatcher(pattern)(pathSegments(path))).toBe(expected);
});

test.each([
  ['/transactions/7', ['transactions', '7']],
  ['/transactions/7/', ['transactions', '7']],
  ['/transactions/7?a=/..', ['transactions', '7']],
  ['/caf%C3%A9/%40me', ['café', '@me']],
  ['/objects/a%2fb/%2e%2e', ['objects', 'a/b', '..']],
  ['/a;b=c/d', ['a;b=c', 'd']],
  ['/', []],
])('rules see %s as %j', (target, segments) => expect(pathSegments(target)).toEqual(segments));

test.each([
  ['/Transactions/**', '/tRANSACTIONS/7', true],
  ['/v1/Pay-*', '/V1/pay-CARD', true],
  ['/caf%C3%89', '/CAFé', true],
  ['/a', '/B', false],
])('%s and %s without regard to case: %s', (pattern, path, expected) => {
  const matches = pathMatcher(pattern);
  expect(matches(pathSegments(path))).toBe(false);
  expect(matches(pathSegments(path, true), true)).toBe(expected);
});

test('escapes that are no UTF-8 do not throw', () => {
  expect(pathSegments('/a%ff/%74')).toEqual(['a%ff', 't']);
  expect(pathSegments('/%')).toEqual(['%']);
});

test.each([
  ['transactions', /start with/],
  ['/a/**/b/**', /only once/],
  ['/a*b*c', /only once/],
  ['/a?b', /query/],
  ['/a b', /spaces/],
  ['/a/../b', /'\.\.'/],
  ['/a//b', /'\/\/'/],
  [`/${'a'.repeat(256)}`, /256/],
])('%s is no pattern', (pattern, reason) => expect(pathPatternFault(pattern)).toMatch(reason));

test.each(['/', '/**', '/a/', '/transactions/**', '/v1/*/x', '/ü'])('%s is one', (pattern) =>
  expect(pathPatternFault(pattern)).toBeUndefined(),
);
