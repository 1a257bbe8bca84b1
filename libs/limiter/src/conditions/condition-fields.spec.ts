import type { Condition } from './condition.js';
import { CONDITIONS } from './condition-fields.js';

const faultsOf = (value: unknown) => CONDITIONS.check(value, { pointer: '/match/all', code: 'rule.match.all' }, {});
const x = { field: 'header.x', equals: 'a' };
const deep = (levels: number): unknown => (levels === 1 ? x : { not: deep(levels - 1) });

test.each<[unknown, string, string]>([
  ['x', '/match/all', 'rule.match.all.wrong_type'],
  [Array.from({ length: 51 }, () => x), '/match/all', 'rule.match.all.wrong_length'],
  [[7], '/match/all/0', 'condition.wrong_type'],
  [[{}], '/match/all/0/field', 'condition.field.missing'],
  [[{ equals: 'a' }], '/match/all/0/field', 'condition.field.missing'],
  [[{ field: 'header.x' }], '/match/all/0', 'condition.malformed'],
  [[{ ...x, in: ['a'] }], '/match/all/0', 'condition.malformed'],
  [[{ field: 'header.x', from: 1 }], '/match/all/0', 'condition.malformed'],
  [[{ field: 'header.x', from: 1, to: 2, equals: 'a' }], '/match/all/0', 'condition.malformed'],
  [[{ field: 'header.x', from: 2, to: 1 }], '/match/all/0/to', 'condition.to.out_of_range'],
  [[{ field: 'header.x', equal: 'a' }], '/match/all/0/equal', 'condition.unknown_field'],
  [[{ field: 'headers.x', equals: 'a' }], '/match/all/0/field', 'condition.field.malformed'],
  [[{ field: 'body.a..b', atLeast: 1 }], '/match/all/0/field', 'condition.field.malformed'],
  [[{ field: 'response.status', from: 400, to: 499 }], '/match/all/0/field', 'condition.field.not_applicable'],
  [[{ field: 'jwt.', equals: 'a' }], '/match/all/0/field', 'condition.field.malformed'],
  [[{ field: 'header.x', equals: null }], '/match/all/0/equals', 'condition.equals.wrong_type'],
  [[{ field: 'header.x', equals: 'x'.repeat(257) }], '/match/all/0/equals', 'condition.equals.malformed'],
  [[{ field: 'header.x', in: [] }], '/match/all/0/in', 'condition.in.wrong_length'],
  [[{ field: 'header.x', in: [1, 1] }], '/match/all/0/in/1', 'condition.in.repeated'],
  [[{ field: 'header.x', contains: ['a', 7] }], '/match/all/0/contains/1', 'condition.contains.wrong_type'],
  [[{ field: 'header.x', atLeast: '5' }], '/match/all/0/atLeast', 'condition.atLeast.wrong_type'],
  [[{ field: 'header.x', atMost: 1e16 }], '/match/all/0/atMost', 'condition.atMost.out_of_range'],
  [[{ field: 'ip', inRanges: ['10.0.0.1/8'] }], '/match/all/0/inRanges/0', 'condition.inRanges.malformed'],
  [[{ field: 'header.x', absent: false }], '/match/all/0/absent', 'condition.absent.wrong_type'],
  [[{ any: [] }], '/match/all/0/any', 'condition.any.wrong_length'],
  [[{ any: [x], field: 'ip' }], '/match/all/0', 'condition.malformed'],
  [[{ not: [x] }], '/match/all/0/not', 'condition.wrong_type'],
  [[{ any: [x, { all: [{ field: 'header.x', like: 7 }] }] }], '/match/all/0/any/1/all/0/like', 'condition.like.wrong_type'],
  [[deep(6)], '/match/all/0/not/not/not/not/not', 'condition.too_complex'],
  [[{ any: Array.from({ length: 50 }, () => x) }], '/match/all/0/any/49', 'condition.too_complex'],
])('%j: %s has the code %s', (value, pointer, code) => {
  expect(faultsOf(value)).toEqual([expect.objectContaining({ pointer, code })]);
});

test('a misspelt operator is told with the one that may be meant', () => {
  expect(faultsOf([{ field: 'header.x', equal: 'a' }])[0]?.detail).toContain('did you mean "equals"?');
});

test('50 conditions in 5 levels are accepted, and cost time in proportion to them', () => {
  const fifty: Condition[] = [deep(5) as Condition, { any: Array.from({ length: 44 }, () => ({ ...x })) }];
  expect(faultsOf(fifty)).toEqual([]);
});
