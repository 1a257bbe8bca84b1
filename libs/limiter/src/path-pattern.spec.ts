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

// The many spellings by which a rule could be slipped past.
test.each(['/transactions/7', '//transactions//7', '/transactions/7/', '/./transactions/x/../7', '/transactions%2F7', '/%74ransactions/7', '/transactions/7?a=/..', '/transactions\\7', '/a/%2e%2e/transactions/7'])(
  '%s is /transactions/7',
  (target) => expect(pathSegments(target)).toEqual(['transactions', '7']),
);

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
  ['/a/../b', /resolved/],
  ['/a//b', /joined/],
  [`/${'a'.repeat(256)}`, /256/],
])('%s is no pattern', (pattern, reason) => expect(pathPatternFault(pattern)).toMatch(reason));

test.each(['/', '/**', '/a/', '/transactions/**', '/v1/*/x', '/ü'])('%s is one', (pattern) => expect(pathPatternFault(pattern)).toBeUndefined());
