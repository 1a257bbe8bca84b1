import { parsePathExceptions } from './path-exceptions.js';
import { ExpectationError } from './variable.js';

it.each([
  ['none', []],
  ['encoded-slashes:/objects/**', [{ kinds: ['encoded-slashes'], pattern: '/objects/**' }]],
  [
    ' parameters+double-escapes:/v1/matrix/*/x   encoded-delimiters:/search ',
    [
      { kinds: ['parameters', 'double-escapes'], pattern: '/v1/matrix/*/x' },
      { kinds: ['encoded-delimiters'], pattern: '/search' },
    ],
  ],
])('the exceptions %j are parsed', (text, exceptions) => {
  expect(parsePathExceptions(text)).toEqual(exceptions);
});

it.each([
  ['a pattern alone', '/objects/**'],
  ['a kind that cannot be let through', 'dot-segments:/objects/**'],
  ['no kind', ':/objects/**'],
  ['a pattern for everything', 'encoded-slashes:/**'],
  ['a wildcard in the first segment', 'encoded-slashes:/o*/**'],
  ['the root', 'encoded-slashes:/'],
  ['no slash at the start', 'encoded-slashes:objects/**'],
  ['two **', 'encoded-slashes:/a/**/b/**'],
  ['two * in a segment', 'encoded-slashes:/a/*b*'],
  ['dots', 'encoded-slashes:/a/../b'],
  ['an empty segment', 'encoded-slashes:/a//b'],
  ['an escape', 'encoded-slashes:/a/%2f'],
  ['a parameter', 'parameters:/a;b/**'],
  ['a comma between two', 'encoded-slashes:/a/**,none'],
  ['too many', Array.from({ length: 33 }, (_, i) => `parameters:/a${i}`).join(' ')],
])('%s is refused, and the error says what was expected', (_case, text) => {
  expect(() => parsePathExceptions(text)).toThrow(ExpectationError);
});
