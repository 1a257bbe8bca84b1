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

const SPIKE: LimitUse = { ...USE, kind: 'key.refused', key: { merchant: 'acme', user: 'hmac:abc' }, refused: 120 };
const spike = (changes: object) => {
  const rest = { ...(JSON.parse(limitEventText(SPIKE)) as object), ...changes };
  return Object.entries({ k: SPIKE.kind, m: 'acme', t: '1', r: JSON.stringify(rest) }).flat();
};

test('a spike is read with its key', () => {
  expect(parseLimitEvent(spike({}))).toEqual({ value: { ...SPIKE, atMs: 1 } });
});

test.each([
  ['no key', { key: undefined }],
  ['a key that is a list', { key: ['a'] }],
  ['a part that is no text', { key: { user: 1 } }],
  ['too many parts', { key: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`p${i}`, ''])) }],
  ['a number that is none', { refused: 'many' }],
])('a spike with %s is no event', (_what, changes) => {
  expect(parseLimitEvent(spike(changes))).toMatchObject({ reason: 'malformed' });
});

test('an event of a newer format is said to be one', () => {
  expect(parseLimitEvent(entry(rest({ v: 2 })))).toMatchObject({ reason: 'newer_format' });
});
