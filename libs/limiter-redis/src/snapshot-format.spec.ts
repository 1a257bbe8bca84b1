import * as fc from 'fast-check';
import { merchantRules, RULE_LANGUAGE, startLimits, type MerchantSnapshot, type Rule } from '#limiter';
import { burst, mutated, ruleOf } from '#limiter/testing';
import { parseDefaultRules, parseMerchantSnapshot, snapshotText } from './snapshot-format.js';

const PLAIN = ruleOf('17', {
  name: 'card payments',
  match: { methods: ['POST'], paths: ['/transactions/**'] },
  limits: startLimits([burst()], 0),
  onStoreFailure: 'closed',
});

/** A rule with every part of the language. */
const RICH: Rule = {
  ...PLAIN,
  cost: { field: 'body.amount', scale: 100, max: 5_000, ifInvalid: 'max' },
  charge: { on: 'response', when: { field: 'response.status', from: 400, to: 499 } },
  onUnreadableBody: 'refuse',
  reserve: [{ name: 'captures', methods: ['POST'], paths: ['/transactions/*/capture'], percent: 20 }],
  id: '18',
  mode: { enforcePercent: 10 },
  validFrom: '2026-12-01T00:00:00Z',
  validTo: '2026-12-24T00:00:00+01:00',
  schedule: { timeZone: 'Europe/Berlin', weekly: [{ days: ['mon', 'sun'], from: '22:00', to: '06:00' }] },
  match: {
    methods: ['POST'],
    paths: [],
    all: [
      { field: 'header.X-Channel', in: ['web', 7] },
      { any: [{ field: 'ip', inRanges: ['10.0.0.0/8'] }, { not: { field: 'query.q', contains: ['a', 'b'] } }] },
      {
        all: [
          { field: 'cookie.c', from: 1, to: 2 },
          { field: 'country', absent: true },
          { field: 'path', like: '/a*' },
        ],
      },
    ],
  },
  key: ['merchant', 'ip.prefix', 'header.x-device-id'],
};

const snapshot = (rules: readonly Rule[]): MerchantSnapshot => ({
  merchantId: 'acme',
  version: 7,
  exists: true,
  timeZone: 'Etc/UTC',
  rules,
});
const parsed = (text: string) => parseMerchantSnapshot(text, 'acme');
/** The text of a snapshot of which a part was replaced. */
const changed = (from: MerchantSnapshot, change: (body: { format: number; rules: Record<string, unknown>[] }) => void) => {
  const text = snapshotText(from);
  const body = JSON.parse(text.slice(16)) as Parameters<typeof change>[0];
  change(body);
  return text.slice(0, 16) + JSON.stringify(body);
};
const LATER = RULE_LANGUAGE + 1;
const newer = (rule: Rule, changes: object = {}) =>
  changed(snapshot([PLAIN, rule]), (body) => Object.assign(body.rules[1]!, { language: LATER, ...changes }));

test('a rule comes back as it was written, whatever parts it has', () => {
  expect(parsed(snapshotText(snapshot([PLAIN, RICH])))).toEqual({ value: snapshot([PLAIN, RICH]) });
  expect(parseDefaultRules(snapshotText({ version: 3, rules: [RICH] }))).toEqual({ value: { version: 3, rules: [RICH] } });
});

test('a snapshot has the second format only if a rule in it needs that', () => {
  const formatOf = (rules: readonly Rule[]) => (JSON.parse(snapshotText(snapshot(rules)).slice(16)) as { format: number }).format;
  expect([formatOf([]), formatOf([PLAIN]), formatOf([PLAIN, RICH])]).toEqual([1, 1, 2]);
  const parts: Partial<Rule>[] = [
    { mode: RICH.mode },
    { validFrom: RICH.validFrom! },
    { validTo: RICH.validTo! },
    { schedule: RICH.schedule! },
    { match: RICH.match },
    { key: ['host'] },
    { reserve: RICH.reserve! },
  ];
  expect(parts.map((part) => formatOf([{ ...PLAIN, ...part }]))).toEqual(parts.map(() => 2));
});

test('a rule that is leased is read by gateways of before, which decide exactly, and refuse while Redis is away', () => {
  const leased: Rule = { ...PLAIN, consistency: 'leased', onStoreFailure: 'leased' };
  const text = snapshotText(snapshot([leased]));
  expect(JSON.parse(text.slice(16))).toMatchObject({ format: 1, rules: [{ consistency: 'leased', onStoreFailure: 'closed' }] });
  expect(parsed(text)).toEqual({ value: snapshot([{ ...leased, onStoreFailure: 'closed' }]) });
  expect(snapshotText(snapshot([{ ...PLAIN, consistency: 'optimistic', reserve: RICH.reserve! }]))).toContain('"consistency":"optimistic"');
});

test('a snapshot of a later format is not read', () => {
  expect(parsed(changed(snapshot([RICH]), (body) => (body.format = 3)))).toEqual({
    reason: 'newer_format',
    detail: 'format 3, and this version reads 2',
  });
});

describe('a rule in a later version of the language', () => {
  const match = { methods: ['POST'], paths: [] };
  const later = { id: '18', language: LATER, onStoreFailure: 'closed', match };

  it('is set apart, and the others are read', () => {
    expect(parsed(newer(RICH, { limits: 'in another form', mode: { night: true }, layer: 'galaxy' }))).toEqual({
      value: { ...snapshot([PLAIN]), newerRules: [later] },
    });
    expect(parsed(newer(RICH, { match: 'everything' }))).toMatchObject({ value: { newerRules: [{ match: { methods: [], paths: [] } }] } });
  });

  it('stays what it is when a snapshot is written again', () => {
    const read = parsed(newer(RICH)) as { value: MerchantSnapshot };
    expect(parsed(snapshotText(read.value))).toEqual(read);
  });

  it.each([{ onStoreFailure: 'explode' }, { id: 7 }, { language: 1e9 }, { id: '17' }])(
    'makes the snapshot unreadable with %j',
    (changes) => {
      expect(parsed(newer(RICH, changes))).toMatchObject({ reason: 'malformed' });
    },
  );
});

test('a damaged snapshot is read as nothing, or as rules that work', () => {
  const seen = { read: 0, unreadable: 0 };
  const request = {
    merchantId: 'acme',
    ip: '10.0.0.1',
    method: 'POST',
    target: '/a?q=b',
    more: { headerValues: () => ['7'], hostName: 'a' },
  };
  fc.assert(
    fc.property(mutated({ rules: [{ ...RICH, language: 2 }] }), (value) => {
      const text = changed(snapshot([]), (body) => Object.assign(body, value, { format: 2 }));
      const found = parsed(text);
      if (!('value' in found)) return void seen.unreadable++;
      seen.read++;
      for (const nowMs of [0, Date.UTC(2026, 11, 6, 22)]) merchantRules('acme', found.value.rules, []).choose(request, () => nowMs);
    }),
    { numRuns: 500 },
  );
  expect(Math.min(seen.read, seen.unreadable)).toBeGreaterThan(20);
});
