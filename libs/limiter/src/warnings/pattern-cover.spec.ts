import * as fc from 'fast-check';
import { pathMatcher, pathPatternFault, pathSegments } from '../matching/path-pattern.js';
import { patternCovers, patternShape } from './pattern-cover.js';

const coversText = (wide: string, narrow: string) => patternCovers(patternShape(wide), patternShape(narrow));

describe('one pattern covers another one', () => {
  it.each([
    ['/**', '/'],
    ['/**', '/a/*/b'],
    ['/**', '/a/**/b'],
    ['/a/**', '/a'],
    ['/a/**', '/a/b/c'],
    ['/a/**', '/a/b/**'],
    ['/a/**/z', '/a/z'],
    ['/a/**/z', '/a/**/y/z'],
    ['/a/*/**', '/a/b/**'],
    ['/*/**', '/**/a'],
    ['/a/*', '/a/b'],
    ['/a/*', '/a/pay-*'],
    ['/a/p*', '/a/pay-*'],
    ['/a/*-x', '/a/pay-*-x'],
    ['/a/b', '/a/b/'],
    ['/%61', '/a'],
  ])('%s covers %s', (wide, narrow) => expect(coversText(wide, narrow)).toBe(true));

  it.each([
    ['/a', '/b'],
    ['/a', '/a/**'],
    ['/a/*', '/a'],
    ['/a/*', '/a/**'],
    ['/a/*/**', '/a/**'],
    ['/a/**/z', '/a/**'],
    ['/*/*/**', '/**/a'],
    ['/a/pay-*', '/a/p*'],
    ['/a/ab*ba', '/a/aba'],
    ['/A', '/a'],
    ['/a/**', '/*/**'],
  ])('%s does not cover %s', (wide, narrow) => expect(coversText(wide, narrow)).toBe(false));
});

const segment = fc.oneof(fc.constantFrom('a', 'b', 'ab', '*', 'a*', '*b', 'a*b', 'A', 'aΣ*', 'aΣ'), fc.constantFrom('**', '**'));
const pattern = fc
  .array(segment, { maxLength: 4 })
  .map((segments) => `/${segments.join('/')}`)
  .filter((text) => pathPatternFault(text) === undefined);
const path = fc
  .array(fc.constantFrom('a', 'b', 'ab', 'aab', 'abb', 'c', 'A', 'aσ', 'aΣb'), { maxLength: 6 })
  .map((segments) => `/${segments.join('/')}`);

it('what a pattern covers matches nothing that it does not match itself, with regard to case and without', () => {
  fc.assert(
    fc.property(pattern, pattern, fc.array(path, { minLength: 1, maxLength: 30 }), fc.boolean(), (wide, narrow, paths, ignoreCase) => {
      fc.pre(coversText(wide, narrow));
      const missed = paths.filter((each) => {
        const segments = pathSegments(each, ignoreCase);
        return pathMatcher(narrow)(segments, ignoreCase) && !pathMatcher(wide)(segments, ignoreCase);
      });
      expect([wide, narrow, missed]).toEqual([wide, narrow, []]);
    }),
    { numRuns: 500 },
  );
});

/** Every path of up to five segments of these texts: enough to tell two short patterns apart. */
const ALL_PATHS = (() => {
  const texts = ['a', 'b', 'ab', 'axb', 'c'];
  const paths: string[][] = [[]];
  for (let from = 0, length = 1; length <= 4; length++) {
    const to = paths.length;
    for (; from < to; from++) for (const text of texts) paths.push([...paths[from]!, text]);
  }
  return paths;
})();

it('a pattern that does not cover another one misses a path of it', () => {
  const short = fc
    .array(fc.constantFrom('a', 'b', '*', 'a*', '*b', '**'), { maxLength: 3 })
    .map((segments) => `/${segments.join('/')}`)
    .filter((text) => pathPatternFault(text) === undefined);
  fc.assert(
    fc.property(short, short, (wide, narrow) => {
      fc.pre(!coversText(wide, narrow));
      const [matchesWide, matchesNarrow] = [pathMatcher(wide), pathMatcher(narrow)];
      expect([wide, narrow, ALL_PATHS.some((segments) => matchesNarrow(segments) && !matchesWide(segments))]).toEqual([wide, narrow, true]);
    }),
    { numRuns: 200 },
  );
});
