import { UnreadableError, type Rule } from '#limiter';
import { compactRuleText } from '#limiter-redis';
import { rule } from '../../../../test/support/factories/rules.js';
import { cutTimes, RuleText } from './rule-text.js';

describe('cutTimes', () => {
  it.each<[what: string, columns: string, key: string, times: string[]]>([
    ['no time', 'a\tb', 'a\tb', []],
    ['a time', '{"since": {"atMs": 1767225600000, "tokens": 5}}', '{"since": {"atMs": , "tokens": 5}}', ['1767225600000']],
    ['two times', '{"atMs": 0}{"atMs": 12}', '{"atMs": }{"atMs": }', ['0', '12']],
    ['the latest time', '{"atMs": 8999999999999}', '{"atMs": }', ['8999999999999']],
    ['a time beyond the bounds of times', '{"atMs": 9007199254741}', '{"atMs": 9007199254741}', []],
    ['a fraction', '{"atMs": 1.5}', '{"atMs": 1.5}', []],
    ['an exponent', '{"atMs": 1e5}', '{"atMs": 1e5}', []],
    ['a negative time', '{"atMs": -5}', '{"atMs": -5}', []],
    ['a text', '{"atMs": "7"}', '{"atMs": "7"}', []],
    ['the name of a field in a text', '{"name": "\\\\"atMs\\\\": 7,"}', '{"name": "\\\\"atMs\\\\": 7,"}', []],
    ['one of two', '{"atMs": null}{"atMs": 3}', '{"atMs": null}{"atMs": }', ['3']],
  ])('%s', (_what, columns, key, times) => {
    expect(cutTimes(columns)).toEqual({ key, times });
  });
});

describe('RuleText', () => {
  const [limit] = rule().limits;
  /** A parser that finds the id and the times, as PostgreSQL's columns have them. */
  const parser =
    (of: (id: string, times: readonly number[]) => Rule) =>
    ({ id, columns }: { id: string; columns: string }) => ({
      rules: [
        of(
          id,
          [...columns.matchAll(/"atMs": (\d+)/g)].map(([, digits]) => Number(digits)),
        ),
      ],
    });
  const since = (id: string, [atMs = 0]: readonly number[]): Rule => rule({ id, limits: [{ ...limit!, since: { atMs, tokens: 1 } }] });
  const COLUMNS = 'name\t{"atMs": 1000}';

  it('has places for the id and the times', () => {
    const text = RuleText.of(COLUMNS, parser(since));
    expect(text?.write('7', ['42'])).toBe(compactRuleText(since('7', [42])));
    expect(text?.limitsInAdvance).toEqual([0]);
  });

  it('a rule by address has no buckets in advance', () => {
    const text = RuleText.of(
      COLUMNS,
      parser((id, times) => ({ ...since(id, times), key: ['ip'] })),
    );
    expect(text?.limitsInAdvance).toEqual([]);
  });

  it.each<[what: string, columns: string, of: (id: string, times: readonly number[]) => Rule]>([
    ['a time that does not come out', COLUMNS, (id) => since(id, [5])],
    [
      'a time that comes out twice',
      COLUMNS,
      (id, [atMs]) => rule({ id, limits: [0, 1].map((n) => ({ ...limit!, id: n, since: { atMs: atMs!, tokens: 1 } })) }),
    ],
    ['an id that comes out in the name as well', COLUMNS, (id, times) => ({ ...since(id, times), name: id })],
    ['a mark of a time that was there before', `8999999000000\t${COLUMNS}`, since],
    ['a mark of an id that was there before', `8999998000000000000\t${COLUMNS}`, since],
    [
      'a rule that cannot be read',
      COLUMNS,
      () => {
        throw new UnreadableError('no rule');
      },
    ],
  ])('there is none for %s', (_what, columns, of) => {
    expect(RuleText.of(columns, parser(of))).toBeUndefined();
  });
});
