import * as fc from 'fast-check';
import { compiledConditions } from './compiled-condition.js';
import type { Condition } from './condition.js';
import { CONDITIONS } from './condition-fields.js';
import type { FieldValue } from './field-value.js';
import { AskedFields } from './request-field.js';

type Headers = Readonly<Record<string, readonly string[]>>;
const asked = (headers: Headers) =>
  new AskedFields({
    merchantId: 'acme',
    ip: '10.1.2.3',
    method: 'POST',
    target: '/',
    more: { headerValues: (name) => headers[name] ?? [], hostName: undefined },
  });
const holds = (conditions: readonly Condition[], headers: Headers) => compiledConditions(conditions).holds(asked(headers));
const x = (operator: object): Condition => ({ field: 'header.x', ...operator }) as Condition;

describe('a condition', () => {
  it.each<[object, readonly string[], boolean]>([
    [{ equals: 'web' }, ['web'], true],
    [{ equals: 'web' }, ['Web'], false],
    [{ equals: '' }, [''], true],
    [{ equals: '' }, [], false],
    [{ equals: 7 }, ['7.00'], true],
    [{ equals: '7' }, ['7.00'], false],
    [{ in: ['RU', 'BY'] }, ['BY'], true],
    [{ in: ['RU', 5] }, ['5.0'], true],
    [{ in: ['RU', 5] }, ['ru'], false],
    [{ startsWith: 'mobile-' }, ['mobile-7'], true],
    [{ startsWith: 'mobile-' }, ['a mobile-7'], false],
    [{ endsWith: '@mail.ru' }, ['a@mail.ru'], true],
    [{ contains: 'PRIZE' }, ['a prize for you'], true],
    [{ contains: ['x', 'straße'] }, ['STRASSE 7'], true],
    [{ contains: ['x', 'y'] }, ['z'], false],
    [{ like: '*@*.example' }, ['a@b.example'], true],
    [{ like: '*@*.example' }, ['a@b.examples'], false],
    [{ atLeast: 0.3 }, ['0.30'], true],
    [{ atLeast: 100 }, ['99.999999999999999999'], false],
    [{ atLeast: 100 }, ['1e9'], false],
    [{ atMost: 100 }, ['100.0'], true],
    [{ atMost: 100 }, ['NaN'], false],
    [{ from: 400, to: 499 }, ['400'], true],
    [{ from: 400, to: 499 }, ['499.1'], false],
    [{ inRanges: ['10.0.0.0/8', '2001:db8::/32'] }, ['2001:db8:1::1'], true],
    [{ inRanges: ['10.0.0.0/8'] }, ['::ffff:10.9.9.9'], true],
    [{ inRanges: ['10.0.0.0/8'] }, ['11.0.0.1'], false],
    [{ inRanges: ['10.0.0.0/8'] }, ['10.0.0.1, 1.1.1.1'], false],
    [{ absent: true }, [], true],
    [{ absent: true }, [''], false],
    // One of several values is enough, whichever of them an upstream reads.
    [{ equals: 'web' }, ['app', 'web'], true],
    [{ atLeast: 100 }, ['1', '500'], true],
    [{ absent: true }, ['a', 'b'], false],
  ])('%j of %j: %s', (operator, values, expected) => {
    expect(CONDITIONS.check([x(operator)], { pointer: '', code: 'condition' }, {})).toEqual([]);
    expect(holds([x(operator)], { x: values })).toBe(expected);
  });

  it('on an absent field never holds but for absent, and its negation does', () => {
    for (const operator of [{ equals: '' }, { in: [''] }, { like: '*' }, { atMost: 5 }, { inRanges: ['0.0.0.0/0'] }, { contains: 'a' }]) {
      expect([holds([x(operator)], {}), holds([{ not: x(operator) }], {})]).toEqual([false, true]);
    }
  });
});

/** What conditions mean, in the plainest words. */
function naive(condition: Condition, value: readonly string[]): boolean {
  if ('all' in condition) return !condition.all.some((each) => !naive(each, value));
  if ('any' in condition) return condition.any.some((each) => naive(each, value));
  if ('not' in condition) return !naive(condition.not, value);
  const { equals, startsWith, endsWith, contains, atLeast, absent } = condition;
  if (absent) return value.length === 0;
  return value.some(
    (each) =>
      each === equals ||
      (startsWith !== undefined && each.indexOf(startsWith) === 0) ||
      (endsWith !== undefined && each.slice(-endsWith.length) === endsWith) ||
      (condition.in !== undefined && condition.in.includes(each)) ||
      (contains !== undefined && [contains].flat().some((part) => each.toUpperCase().includes(part.toUpperCase()))) ||
      (atLeast !== undefined && /^\d+$/.test(each) && Number(each) >= atLeast),
  );
}

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'A', '7', '1'), minLength: 1, maxLength: 3 });
const leaf = fc
  .oneof(
    word.map((equals) => ({ equals })),
    word.map((startsWith) => ({ startsWith })),
    word.map((endsWith) => ({ endsWith })),
    fc.uniqueArray(word, { minLength: 1, maxLength: 3 }).map((values) => ({ in: values })),
    fc.uniqueArray(word, { minLength: 1, maxLength: 2 }).map((contains) => ({ contains })),
    fc.nat(100).map((atLeast) => ({ atLeast })),
    fc.constant({ absent: true as const }),
  )
  .map(x);
const { tree } = fc.letrec<{ tree: Condition }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.array(tie('tree'), { minLength: 1, maxLength: 3 }).map((all) => ({ all })),
    fc.array(tie('tree'), { minLength: 1, maxLength: 3 }).map((any) => ({ any })),
    tie('tree').map((not) => ({ not })),
  ),
}));

test('conditions mean what a plain reading of them says, and the reason names a field of them', () => {
  const seen = { true: 0, false: 0 };
  fc.assert(
    fc.property(tree, fc.array(word, { maxLength: 2 }), (condition, value) => {
      const compiled = compiledConditions([condition]);
      const result = compiled.holds(asked({ x: value }));
      expect(result).toBe(naive(condition, value));
      const got: FieldValue = value.length > 1 ? value : value[0];
      expect(compiled.reason(asked({ x: value }))).toMatchObject({ field: 'header.x', got });
      seen[`${result}`]++;
    }),
    { numRuns: 1000 },
  );
  expect(Math.min(seen.true, seen.false)).toBeGreaterThan(100);
});

test('the reason is the first condition that failed, and of a negation what held', () => {
  const reason = (conditions: readonly Condition[], value: string) => compiledConditions(conditions).reason(asked({ x: [value] }));
  const web = x({ equals: 'web' });
  expect(reason([x({ startsWith: 'w' }), x({ endsWith: 'c' }), web], 'wab')).toEqual({
    field: 'header.x',
    expected: { endsWith: 'c' },
    got: 'wab',
  });
  expect(reason([{ any: [web, x({ equals: 'app' })] }], 'tv')).toEqual({ field: 'header.x', expected: { equals: 'web' }, got: 'tv' });
  expect(reason([{ not: { any: [x({ equals: 'app' }), web] } }], 'web')).toEqual({
    field: 'header.x',
    expected: { not: { equals: 'web' } },
    got: 'web',
  });
});

test('a field is read once, however many conditions look at it', () => {
  let reads = 0;
  const request = new AskedFields({
    merchantId: 'a',
    ip: '',
    method: 'GET',
    target: '/',
    more: { headerValues: () => [`${++reads}`], hostName: undefined },
  });
  compiledConditions(Array.from({ length: 50 }, () => x({ equals: '1' }))).holds(request);
  expect(reads).toBe(1);
});
