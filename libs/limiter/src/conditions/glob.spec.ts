import * as fc from 'fast-check';
import { globMatcher } from './glob.js';
import { caseFolded, textSearch } from './text-search.js';

/** Of few letters, so that texts and patterns meet. */
const text = fc.string({ unit: fc.constantFrom('a', 'b', 'ß'), maxLength: 12 });
const glob = fc.string({ unit: fc.constantFrom('a', 'b', '*', '.', '?'), maxLength: 8 });

/** Globs as they are defined: the star is nothing, or it stands for one more character. */
function naive(pattern: string, value: string): boolean {
  if (pattern === '') return value === '';
  if (pattern[0] !== '*') return value !== '' && value[0] === pattern[0] && naive(pattern.slice(1), value.slice(1));
  return naive(pattern.slice(1), value) || (value !== '' && naive(pattern, value.slice(1)));
}

test('a glob matches what its definition says', () => {
  let matches = 0;
  fc.assert(
    fc.property(glob, text, (pattern, value) => {
      const matched = globMatcher(pattern)(value);
      expect(matched).toBe(naive(pattern, value));
      if (matched) matches++;
    }),
    { numRuns: 2000 },
  );
  expect(matches).toBeGreaterThan(50);
});

test.each([
  ['short', ''],
  // The engine's own search is used for short texts only.
  ['long', 'z'.repeat(5_000)],
])('a search finds the first place in a %s text, as the engine does', (_length, behind) => {
  const pattern = text.filter((each) => each !== '');
  fc.assert(
    fc.property(pattern, text, fc.nat(6), (sought, value, from) =>
      expect(textSearch(sought)(value + behind, from)).toBe((value + behind).indexOf(sought, from)),
    ),
    { numRuns: 1000 },
  );
});

/** A text that counts how often it is looked at. */
class CountedText {
  looks = 0;
  constructor(private readonly value: string) {}
  get length(): number {
    return this.value.length;
  }
  charCodeAt(i: number): number {
    this.looks++;
    return this.value.charCodeAt(i);
  }
  startsWith(start: string): boolean {
    return this.value.startsWith(start);
  }
  endsWith(end: string): boolean {
    return this.value.endsWith(end);
  }
  slice(): this {
    return this;
  }
}

test.each(['*a*a*a*a*a*a*ab', `*${'a'.repeat(255)}b*`, `*${'ab'.repeat(60)}*${'a'.repeat(60)}c*`])(
  'the glob %s looks at each character of the worst text at most twice',
  (pattern) => {
    for (const worst of ['a'.repeat(20_000), 'ab'.repeat(10_000), `${'a'.repeat(254)}c`.repeat(80)]) {
      const counted = new CountedText(`${worst}b`);
      globMatcher(pattern)(counted as unknown as string);
      expect(counted.looks).toBeLessThanOrEqual(2 * counted.length);
    }
  },
);

test.each([
  ['STRASSE', 'straße'],
  ['ὈΔΥΣΣΕΎΣ', 'ὀδυσσεύς'],
  ['K', '\u212a'],
  ['ﬁ', 'FI'],
])('%s and %s differ in case only', (a, b) => expect(caseFolded(a)).toBe(caseFolded(b)));
