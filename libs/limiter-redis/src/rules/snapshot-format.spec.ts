import * as fc from 'fast-check';
import { editLimits, merchantRules, RULE_LANGUAGE, startLimits, type MerchantSnapshot, type Rule } from '#limiter';
import { anyLimitSpecs, burst, mutated, ruleOf, runs } from '#limiter/testing';
import { compactSnapshotText, parseDefaultRules, parseMerchantSnapshot, snapshotText } from './snapshot-format.js';

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

const PERIOD = {
  id: '3',
  number: 1,
  fromMs: 1,
  untilMs: 2,
  deleted: false,
  multiply: 5,
  before: [{ limitId: 0, generation: 0, override: 0 }],
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
const compactBody = (from: MerchantSnapshot) => JSON.parse(compactSnapshotText(from).slice(16)) as object;
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
  expect(parsed(changed(snapshot([RICH]), (body) => (body.format = 4)))).toEqual({
    reason: 'newer_format',
    detail: 'format 4, and this version reads 3',
  });
  expect(parseDefaultRules(changed(snapshot([RICH]), (body) => (body.format = 3)))).toMatchObject({ reason: 'newer_format' });
});

describe('a compact snapshot', () => {
  const back = (from: MerchantSnapshot) => parsed(compactSnapshotText(from));

  it('of a merchant with default rules or a plan alone is a mark', () => {
    const inUtc = { ...snapshot([]), timeZone: 'UTC' };
    expect(compactSnapshotText(inUtc)).toBe('0000000000000007{"format":3}');
    expect(compactSnapshotText({ ...inUtc, plan: 'pro' })).toBe('0000000000000007{"format":3,"plan":"pro"}');
  });

  it.each<[string, MerchantSnapshot]>([
    ['default rules alone', snapshot([])],
    ['a plan', { ...snapshot([]), plan: 'pro' }],
    ['a tombstone', { ...snapshot([]), exists: false }],
    ['a time zone', { ...snapshot([]), timeZone: 'Europe/Berlin' }],
    ['rules', snapshot([PLAIN, RICH])],
    ['one bucket for everybody', snapshot([{ ...PLAIN, key: [] }])],
    [
      'nothing that is usual',
      snapshot([{ ...PLAIN, layer: 'user', priority: 0, enabled: false, mode: 'shadow', cost: 7, onStoreFailure: 'open' }]),
    ],
    ['overrides', { ...snapshot([PLAIN]), overrides: [{ ruleId: '17', periods: [PERIOD] }] }],
  ])('comes back as it was written: %s', (_what, from) => {
    const read = back(from);
    expect(read).toEqual(parsed(snapshotText(from)));
    expect(read).toEqual({ value: from });
  });

  it('keeps every limit, and what it remembers of its edits', () => {
    fc.assert(
      fc.property(anyLimitSpecs(), anyLimitSpecs(), (first, second) => {
        const limits = editLimits(startLimits([first], 1_000), [second], 2_000);
        expect(back(snapshot([{ ...PLAIN, limits }]))).toEqual(parsed(snapshotText(snapshot([{ ...PLAIN, limits }]))));
      }),
      runs(300),
    );
    const [limit] = PLAIN.limits;
    const odd = { ...limit!, id: 5, generation: 9, since: { atMs: 1, tokens: -3, fraction: { part: 1, of: 3 } } };
    expect(back(snapshot([{ ...PLAIN, limits: [odd] }]))).toEqual({ value: snapshot([{ ...PLAIN, limits: [odd] }]) });
  });

  it('sets a rule in a later language apart, whatever form it has', () => {
    const from = {
      ...snapshot([PLAIN]),
      newerRules: [{ id: '18', language: LATER, onStoreFailure: 'closed', match: { methods: ['POST'], paths: [] } }],
    };
    expect(back(from as never)).toEqual({ value: from });
    for (const part of [{ l: 'in another form' }, { l: [7] }, { w: 'everything' }, { m: { night: true } }]) {
      const text = compactSnapshotText(from as never);
      const body = JSON.parse(text.slice(16)) as { r: object[] };
      Object.assign(body.r[1]!, part);
      expect(parsed(text.slice(0, 16) + JSON.stringify(body))).toMatchObject({ value: { newerRules: [{ id: '18', language: LATER }] } });
    }
  });

  it.each([
    '{"format":3,"r":7}',
    '{"format":3,"r":[7]}',
    '{"format":3,"r":[{}]}',
    '{"format":3,"x":1}',
    '{"format":3,"z":"Mars"}',
    '{"format":3,"plan":"No Name"}',
  ])('that is damaged is not believed: %s', (json) => expect(parsed(`0000000000000007${json}`)).toMatchObject({ reason: 'malformed' }));

  it('has a version in front, and nowhere else', () => {
    for (const front of ['000000000000007x', '               7', '0000000000000-07']) {
      expect(parsed(`${front}{"format":3}`)).toMatchObject({ reason: 'malformed' });
    }
    expect(parsed('0002000000000000{"format":3}')).toMatchObject({ reason: 'implausible_version' });
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

test.each([2, 3])('a damaged snapshot of format %d is read as nothing, or as rules that work', (format) => {
  const seen = { read: 0, unreadable: 0 };
  const request = {
    merchantId: 'acme',
    ip: '10.0.0.1',
    method: 'POST',
    target: '/a?q=b',
    more: { headerValues: () => ['7'], hostName: 'a' },
  };
  fc.assert(
    fc.property(mutated(format === 2 ? { rules: [{ ...RICH, language: 2 }] } : compactBody(snapshot([RICH]))), (value) => {
      const text = changed(snapshot([]), (body) => Object.assign(body, value, { format }));
      const found = parsed(text);
      if (!('value' in found)) return void seen.unreadable++;
      seen.read++;
      for (const nowMs of [0, Date.UTC(2026, 11, 6, 22)]) merchantRules('acme', found.value.rules, []).choose(request, () => nowMs);
    }),
    { numRuns: 500 },
  );
  expect(Math.min(seen.read, seen.unreadable)).toBeGreaterThan(20);
});
