import fc from 'fast-check';
import type { PathException } from '#platform';
import { pathFaults } from './path-faults.js';
import { createPathReader } from './path-policy.js';
import { TARGET_CHARACTERS } from './path-problems.js';

const EXCEPTIONS: readonly PathException[] = [
  { kinds: ['encoded-slashes'], pattern: '/objects/**' },
  { kinds: ['parameters', 'encoded-delimiters'], pattern: '/matrix/*/x' },
  { kinds: ['double-escapes'], pattern: '/codes/*' },
];

const strict = createPathReader({ policy: 'strict', exceptions: EXCEPTIONS });
const normalize = createPathReader({ policy: 'normalize', exceptions: EXCEPTIONS });

/** The target that is forwarded, or in brackets the rule that is broken. */
function outcome(read: typeof strict, target: string): string {
  const path = read(target);
  if (typeof path === 'string') return path;
  if (path === TARGET_CHARACTERS) return '[characters]';
  return `[${JSON.parse(path.body('r-1')).rule}]`;
}

/** Target, what `strict` makes of it, what `normalize` makes of it; `same` is the target itself. */
const ROWS: [string, string, string][] = [
  ['/', 'same', 'same'],
  ['/transactions/7', 'same', 'same'],
  ['/transactions/', 'same', 'same'],
  ['/.well-known/x', 'same', 'same'],
  ['/...', 'same', 'same'],
  ['/a..b/.c./d..', 'same', 'same'],
  ["/a-b_c~d.e/$&+,=:@!*()'", 'same', 'same'],
  ['/a%20b/%40me/%3A%2B%22', 'same', 'same'],
  ['/a%20b/%40me/%3a%2b', 'same', 'same'],
  ['/caf%C3%A9/%F0%9F%98%80', 'same', 'same'],
  ['/100%25', 'same', 'same'],
  ['/100%25/zz', 'same', 'same'],
  ['/a?b=//../%2e%2f;%zz\\', 'same', 'same'],
  ['/?', 'same', 'same'],
  ['/a/?b', 'same', 'same'],
  // Characters that no path has.
  ['/a#b', '[characters]', '[characters]'],
  ['/a b', '[characters]', '[characters]'],
  ['/caf\xe9', '[characters]', '[characters]'],
  ['/a\x7f', '[characters]', '[characters]'],
  ['/a?b#c', '[characters]', '[characters]'],
  ['/\u0100', '[characters]', '[characters]'],
  // Dots.
  ['/./a', '[dot-segments]', '/a'],
  ['/graphql/../transactions', '[dot-segments]', '/transactions'],
  ['/graphql/../../../transactions', '[dot-segments]', '/transactions'],
  ['/a/..', '[dot-segments]', '/'],
  ['/a/b/..', '[dot-segments]', '/a/'],
  ['/a/b/.', '[dot-segments]', '/a/b/'],
  ['/a/..?x=/..', '[dot-segments]', '/?x=/..'],
  ['/a/.?x', '[dot-segments]', '/a/?x'],
  ['/graphql/%2e%2e/transactions', '[dot-segments]', '/transactions'],
  ['/graphql/%2E./transactions', '[dot-segments]', '/transactions'],
  ['/a/%2e', '[dot-segments]', '/a/'],
  // Slashes.
  ['//a', '[empty-segments]', '/a'],
  ['/a//b', '[empty-segments]', '/a/b'],
  ['/a//', '[empty-segments]', '/a/'],
  ['//', '[empty-segments]', '/'],
  ['/transactions%2f7', '[encoded-slashes]', '/transactions/7'],
  ['/graphql/..%2fx', '[dot-segments]', '/x'],
  ['/graphql%2F..%2Ftransactions?q', '[dot-segments]', '/transactions?q'],
  ['/graphql\\..\\transactions', '[dot-segments]', '/transactions'],
  ['/graphql\\x', '[backslashes]', '/graphql/x'],
  ['/graphql%5cx', '[backslashes]', '/graphql/x'],
  ['/graphql/..%5Cx', '[dot-segments]', '/x'],
  // Parameters.
  ['/transactions;a=b', '[parameters]', '/transactions'],
  ['/transactions;a=b/7;c', '[parameters]', '/transactions/7'],
  ['/transactions;', '[parameters]', '/transactions'],
  ['/;/transactions', '[empty-segments]', '/transactions'],
  ['/x/..;/transactions', '[dot-segments]', '/transactions'],
  ['/x/..;a=b/transactions', '[dot-segments]', '/transactions'],
  ['/transactions%3ba=b', '[parameters]', '[parameters]'],
  ['/x/..%3b/transactions', '[dot-segments]', '[dot-segments]'],
  ['/a;x=%2f..%2fb', '[dot-segments]', '/a'],
  // Escapes.
  ['/%74ransactions', '[encoded-unreserved]', '/transactions'],
  ['/a%2db%7e', '[encoded-unreserved]', '/a-b~'],
  ['/%74%C3%a9%40', '[encoded-unreserved]', '/t%C3%A9%40'],
  ['/%', '[invalid-escapes]', '[invalid-escapes]'],
  ['/a%4', '[invalid-escapes]', '[invalid-escapes]'],
  ['/a%4/b', '[invalid-escapes]', '[invalid-escapes]'],
  ['/a%zz', '[invalid-escapes]', '[invalid-escapes]'],
  ['/%u002e%u002e/x', '[invalid-escapes]', '[invalid-escapes]'],
  ['/a%?b', '[invalid-escapes]', '[invalid-escapes]'],
  ['/a%00', '[control-characters]', '[control-characters]'],
  ['/a%0d%0ab', '[control-characters]', '[control-characters]'],
  ['/a%1f', '[control-characters]', '[control-characters]'],
  ['/a%7F', '[control-characters]', '[control-characters]'],
  ['/caf%e9', '[invalid-utf-8]', '[invalid-utf-8]'],
  ['/..%c0%afx', '[invalid-utf-8]', '[invalid-utf-8]'],
  ['/%c0%ae%c0%ae/x', '[invalid-utf-8]', '[invalid-utf-8]'],
  ['/%e0%80%af', '[invalid-utf-8]', '[invalid-utf-8]'],
  ['/%ed%a0%80', '[invalid-utf-8]', '[invalid-utf-8]'],
  ['/%f4%90%80%80', '[invalid-utf-8]', '[invalid-utf-8]'],
  ['/%c3/%a9', '[invalid-utf-8]', '[invalid-utf-8]'],
  ['/transactions%3fx', '[encoded-delimiters]', '[encoded-delimiters]'],
  ['/transactions%23x', '[encoded-delimiters]', '[encoded-delimiters]'],
  ['/%252e%252e/x', '[dot-segments]', '[dot-segments]'],
  ['/a%252fb', '[double-escapes]', '[double-escapes]'],
  ['/a%25%32fb', '[encoded-unreserved]', '[double-escapes]'],
  ['/%25252525252525252e', '[dot-segments]', '[dot-segments]'],
  // What is excepted, where it is excepted, and nothing else.
  ['/objects/a%2fb', 'same', '/objects/a%2Fb'],
  ['/objects/a%2Fb/c', 'same', 'same'],
  ['/objects/a%2f..%2f..%2ftransactions', '[dot-segments]', '/transactions'],
  ['/objects/..%2fb', '[dot-segments]', '/b'],
  ['/objects/a;b%2fc', '[encoded-slashes]', '/objects/a'],
  ['/objects%2fa', '[encoded-slashes]', '/objects/a'],
  ['/x/../objects/a%2fb', '[dot-segments]', '/objects/a%2Fb'],
  ['/objects/../x/a%2fb', '[dot-segments]', '/x/a/b'],
  ['/Objects/a%2fb', '[encoded-slashes]', '/Objects/a/b'],
  ['/%6fbjects/a%2fb', '[encoded-slashes]', '/objects/a%2Fb'],
  ['/matrix/a;b=c/x', 'same', 'same'],
  ['/matrix/a%3bb%3f/x', 'same', '/matrix/a%3Bb%3F/x'],
  ['/matrix/a;b=c/y', '[parameters]', '/matrix/a/y'],
  ['/matrix/;b/x', '[empty-segments]', '/matrix/x'],
  ['/matrix/..;b/x', '[dot-segments]', '/x'],
  ['/matrix;b/a/x', '[parameters]', '/matrix/a/x'],
  ['/matrix/a%2fb/x', '[encoded-slashes]', '/matrix/a/b/x'],
  ['/codes/50%25ab', 'same', '/codes/50%25ab'],
  ['/codes/%252e%252e', '[dot-segments]', '[dot-segments]'],
  ['/codes/%252f..%252f', '[dot-segments]', '[dot-segments]'],
];

test.each(ROWS)('%s: strict gives %s, normalize %s', (target, strictly, normalized) => {
  expect(outcome(strict, target)).toBe(strictly === 'same' ? target : strictly);
  expect(outcome(normalize, target)).toBe(normalized === 'same' ? target : normalized);
});

test('the problem says which rule of the policy was broken', () => {
  const problem = strict('/a/../b');
  if (typeof problem === 'string') throw new Error('was let through');
  expect(JSON.parse(problem.body('r-1'))).toEqual({
    type: 'http://127.0.0.1:3000/problems/ambiguous-path',
    code: 'path.ambiguous',
    title: 'Bad Request',
    status: 400,
    detail: expect.stringContaining('"..'),
    rule: 'dot-segments',
    requestId: 'r-1',
  });
});

/** Targets out of pieces that are dangerous next to each other. */
const targets = fc
  .array(
    fc.constantFrom(
      '/',
      '/',
      '/',
      '.',
      '..',
      '%2e',
      '%2E',
      '%2f',
      '%5c',
      '\\',
      ';',
      '%3b',
      'a',
      'b',
      '%61',
      '%25',
      '2e',
      '2f',
      '32',
      '%3f',
      '%23',
      '%c3%a9',
      '%c0%af',
      '%',
      '%4',
      '%00',
      '%20',
      '%40',
      'objects',
      'matrix',
      'codes',
      'transactions',
      '?',
      '#',
      '~',
      '%7e',
    ),
    { maxLength: 14 },
  )
  .map((pieces) => `/${pieces.join('')}`);

const SEED = 8;
const RUNS = 5_000;

test('a target that strict accepts without an exception has no fault and is not changed', () => {
  const read = createPathReader({ policy: 'strict', exceptions: [] });
  fc.assert(
    fc.property(targets, (target) => {
      const path = read(target);
      if (typeof path !== 'string') return;
      expect(path).toBe(target);
      expect([...pathFaults(path.split('?')[0]!)]).toEqual([]);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

test('the quick check and the thorough one agree on ordinary targets', () => {
  const read = createPathReader({ policy: 'strict', exceptions: [] });
  fc.assert(
    fc.property(targets, (target) => {
      const faultless = !target.includes('#') && pathFaults(target.split('?')[0]!).size === 0;
      expect(typeof read(target) === 'string').toBe(faultless);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

test('a normalized target does not change when it is normalized again, passes strict, and keeps its query', () => {
  fc.assert(
    fc.property(targets, (target) => {
      const path = normalize(target);
      if (typeof path !== 'string') return;
      expect([normalize(path), strict(path)]).toEqual([path, path]);
      const query = target.indexOf('?');
      expect(path.slice(path.includes('?') ? path.indexOf('?') : path.length)).toBe(query === -1 ? '' : target.slice(query));
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

test('a long path is read in linear time', () => {
  for (const piece of ['%2e', '..%2f', '/..', ';', '%25', '%252e', '//']) {
    const target = `/${piece.repeat(16_000 / piece.length)}`;
    // Of this process: on a busy machine a millisecond of the clock may take a second.
    const before = process.cpuUsage();
    strict(target);
    normalize(target);
    const { user, system } = process.cpuUsage(before);
    expect(user + system).toBeLessThan(1_000_000);
  }
});
