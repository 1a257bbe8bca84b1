import { limitEventText, parseLimitEvent, type LimitUse } from './limit-event-format.js';

const USE: LimitUse = { kind: 'limit.80', merchantId: 'acme', ruleId: '17', rule: 'payments', limit: 'burst', capacity: 10, remaining: 2 };

const entry = (changes: Record<string, string> = {}): string[] =>
  Object.entries({ k: USE.kind, m: USE.merchantId, t: '1700000000000', r: limitEventText(USE), ...changes }).flat();
const rest = (changes: object) => ({ r: JSON.stringify({ ...(JSON.parse(limitEventText(USE)) as object), ...changes }) });

test('an event is read as it was written', () => {
  expect(parseLimitEvent(entry())).toEqual({ value: { ...USE, atMs: 1_700_000_000_000 } });
});

test.each([
  ['nothing', []],
  ['half a pair', ['k']],
  ['a kind that is none', entry({ k: 'limit.90' })],
  ['a merchant that is none', entry({ m: '' })],
  ['a time that is none', entry({ t: 'soon' })],
  ['no JSON', entry({ r: '{' })],
  ['a list', entry({ r: '[]' })],
  ['null', entry({ r: 'null' })],
  ['a rule that is none', entry(rest({ ruleId: 'x' }))],
  ['a name that is too long', entry(rest({ rule: 'x'.repeat(201) }))],
  ['a number that is none', entry(rest({ capacity: '10' }))],
  ['a negative number', entry(rest({ remaining: -1 }))],
])('%s is no event', (_what, fields) => {
  expect(parseLimitEvent(fields)).toMatchObject({ reason: 'malformed' });
});

test('an event of a newer format is said to be one', () => {
  expect(parseLimitEvent(entry(rest({ v: 2 })))).toMatchObject({ reason: 'newer_format' });
});
