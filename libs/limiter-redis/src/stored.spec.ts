import {
  editLimits,
  generationsOf,
  MemoryBucketStore,
  merchantRules,
  startLimits,
  takesOf,
  verdictOf,
  Reservation,
  type LimitSpec,
  type MerchantSnapshot,
  type Rule,
} from '#limiter';
import { mutated, nearlyJson, runs } from '#limiter/testing';
import * as fc from 'fast-check';
import { MOST_BUSY_MERCHANTS, parseBusyMerchants } from './records/busy-merchants.js';
import { parseChange, parseChangeCounters } from './rules/change-feed.js';
import { parsePlatformLoad } from './rules/platform-load.js';
import { MOST_VERSIONS, parseDefaultRules, parseMerchantSnapshot, snapshotText } from './rules/snapshot-format.js';
import type { Parsed } from './stored.js';
import { packTakes } from './buckets/take-call.js';

const SPECS: readonly LimitSpec[] = [
  { name: 'tokens', algorithm: 'token_bucket', capacity: 10, refillTokens: 3, refillIntervalMs: 1000, refill: 'greedy', initialTokens: 20 },
  {
    name: 'steps',
    algorithm: 'token_bucket',
    capacity: 10,
    refillTokens: 5,
    refillIntervalMs: 1000,
    refill: 'interval',
    align: 'clock',
    throttle: 'soft',
    excessPercent: 10,
  },
  { name: 'calendar', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refill: 'interval', calendar: 'month' },
  { name: 'gcra', algorithm: 'gcra', capacity: 10, refillTokens: 7, refillIntervalMs: 1000, throttle: 'elastic' },
  { name: 'queue', algorithm: 'leaky_bucket', capacity: 10, drainTokens: 2, drainIntervalMs: 1000, onLimit: { delay: { maxWaitMs: 500 } } },
  { name: 'day', algorithm: 'fixed_window', limit: 5, calendar: 'day', timeZone: 'Asia/Tokyo', start: 'clock' },
  { name: 'parts', algorithm: 'sliding_counter', limit: 5, windowMs: 60_000, parts: 6 },
  { name: 'slots', algorithm: 'concurrency', limit: 5, slotTimeoutMs: 1000 },
];

const NOW_MS = Date.UTC(2026, 10, 22);

/** One that has everything: all algorithms, edits, a penalty. */
const RULES: readonly Rule[] = [
  {
    id: '17',
    name: 'everything',
    layer: 'merchant',
    priority: 100,
    enabled: true,
    mode: 'enforce',
    match: { methods: ['POST'], paths: ['/transactions/**', '/v1/pay-*'] },
    key: ['merchant'],
    limits: editLimits(
      startLimits(SPECS, NOW_MS - 50_000),
      SPECS.map((spec) => ('capacity' in spec ? { ...spec, capacity: 9 } : { ...spec, limit: 4 })),
      NOW_MS - 7_000,
    ),
    cost: 2,
    onStoreFailure: 'local',
    penalty: { refusals: 3, windowMs: 60_000, blockMs: 1000 },
  },
  {
    id: '18',
    name: 'a log',
    layer: 'platform',
    priority: 1,
    enabled: true,
    mode: 'shadow',
    match: { methods: [], paths: [] },
    key: ['ip', 'method'],
    limits: startLimits([{ name: 'log', algorithm: 'sliding_log', limit: 5, windowMs: 1000 }], NOW_MS),
    cost: 1,
    onStoreFailure: 'closed',
  },
];

const SNAPSHOT: MerchantSnapshot = { merchantId: 'acme', version: 41, exists: true, timeZone: 'Europe/Berlin', rules: RULES };

/** The same merchant with an override that has ended, and one that has not. */
const OVERRIDDEN: MerchantSnapshot = {
  ...SNAPSHOT,
  overrides: [
    {
      ruleId: '17',
      periods: [
        {
          id: '5',
          number: 3,
          fromMs: NOW_MS - 9_000,
          untilMs: NOW_MS - 8_000,
          deleted: false,
          before: RULES[0]!.limits.map(({ id, generation }) => ({ limitId: id, generation: generation - 1, override: 1 })),
          multiply: 3,
        },
        {
          id: '6',
          number: 4,
          fromMs: NOW_MS - 5_000,
          untilMs: NOW_MS + 5_000,
          deleted: false,
          before: RULES[0]!.limits.map(({ id, generation }) => ({ limitId: id, generation, override: 3 })),
          limits: [
            { limitId: RULES[0]!.limits[0]!.id, numbers: { capacity: 7, refillTokens: 2 } },
            { limitId: RULES[0]!.limits[5]!.id, numbers: { limit: 900 } },
          ],
        },
      ],
    },
  ],
};

const valueOf = <T>(found: Parsed<T>): T => {
  if (!('value' in found)) throw new Error(`${found.reason}: ${found.detail}`);
  return found.value;
};
const reasonOf = (found: Parsed<unknown>) => ('value' in found ? 'none' : found.reason);

/** As a script or a hand would write it: whatever stands in the body, the version in front is as wide as it should be. */
const textOf = (body: unknown, front = '0000000000000041') => front + JSON.stringify(body);

/** Does with rules all that a gateway does; throws if anything comes out of it that is no number. */
function decideBy(rules: readonly Rule[], timeZone = 'Etc/UTC', overrides?: MerchantSnapshot['overrides']): void {
  const ready = merchantRules('acme', rules, [], { timeZone, overrides, time: { atMs: NOW_MS } });
  for (const { bucket } of ready.takes()) generationsOf(bucket);
  const store = new MemoryBucketStore(() => NOW_MS);
  for (const target of ['/transactions/7', '/']) {
    const descriptor = { merchantId: 'acme', ip: '192.0.2.1', method: 'POST', target };
    const { enforced, shadow } = ready.choose(descriptor);
    for (const chosen of [...enforced, ...shadow]) {
      const reservation = new Reservation(store, takesOf([chosen], descriptor), false, 1, false);
      store.take(reservation, (outcome, atUs) => {
        if (outcome instanceof Error) throw outcome;
        for (const { decision } of verdictOf([chosen], reservation.answered(outcome, atUs), 'store').limits) {
          const { limit, remaining, resetAfterMs, retryAfterMs } = decision;
          for (const number of [limit, remaining, resetAfterMs, retryAfterMs === 'never' ? 0 : retryAfterMs])
            if (!Number.isFinite(number)) throw new Error(`a decision says ${JSON.stringify(decision)}`);
        }
      });
      const { takes, holder, spare } = reservation;
      for (const withFormer of [false, true]) packTakes([{ takes, holder, spare, withFormer }], NOW_MS, 'of server');
    }
  }
}

describe('what was written can be read', () => {
  test('a snapshot and default rules come back as they were', () => {
    expect(valueOf(parseMerchantSnapshot(snapshotText(SNAPSHOT), 'acme'))).toEqual(SNAPSHOT);
    expect(valueOf(parseDefaultRules(snapshotText({ version: 3, rules: RULES })))).toEqual({ version: 3, rules: RULES });
    expect(valueOf(parseMerchantSnapshot(snapshotText(OVERRIDDEN), 'acme'))).toEqual(OVERRIDDEN);
    decideBy(RULES, 'Europe/Berlin', OVERRIDDEN.overrides);
  });

  test('a snapshot of a time without formats is one of the first', () => {
    expect(valueOf(parseMerchantSnapshot(textOf(SNAPSHOT), 'acme'))).toEqual(SNAPSHOT);
  });

  test('unknown fields are left out, and names that objects have anyway do no harm', () => {
    const text = textOf(SNAPSHOT)
      .replace('"exists":true', '"exists":true,"__proto__":{"isAdmin":true},"constructor":1')
      .replace('"algorithm":"gcra"', '"algorithm":"gcra","__proto__":{"limit":1},"later":[1]');
    expect(valueOf(parseMerchantSnapshot(text, 'acme'))).toEqual(SNAPSHOT);
    expect(({} as { isAdmin?: unknown }).isAdmin).toBeUndefined();
  });
});

describe('what is not believed', () => {
  const rows: [what: string, text: string, reason: string][] = [
    ['a format of later', textOf({ format: 4, whatever: [] }), 'newer_format'],
    ['a format that is none', textOf({ ...SNAPSHOT, format: 'two' }), 'malformed'],
    [
      'a version beyond all edits',
      textOf({ ...SNAPSHOT, version: MOST_VERSIONS + 1 }, String(MOST_VERSIONS + 1).padStart(16, '0')),
      'implausible_version',
    ],
    ['a version that no number holds', textOf({ ...SNAPSHOT, version: 9_999_999_999_999_999 }, '9999999999999999'), 'implausible_version'],
    ['a negative version', textOf({ ...SNAPSHOT, version: -1 }, '00000000000000-1'), 'implausible_version'],
    ['half a version', textOf({ ...SNAPSHOT, version: 41.5 }), 'implausible_version'],
    ['a version as text', textOf({ ...SNAPSHOT, version: '41' }), 'malformed'],
    ['a version other than the one in front', textOf(SNAPSHOT, '0000000000000042'), 'malformed'],
    ['another merchant', textOf({ ...SNAPSHOT, merchantId: 'other' }), 'malformed'],
    ['no list of rules', textOf({ ...SNAPSHOT, rules: {} }), 'malformed'],
    ['a time zone that is none', textOf({ ...SNAPSHOT, timeZone: 'Mars/Olympus' }), 'malformed'],
    ['an algorithm of later', textOf(SNAPSHOT).replace('"algorithm":"gcra"', '"algorithm":"gcra2"'), 'malformed'],
    ['a limit beyond its bounds', textOf(SNAPSHOT).replace('"parts":6', '"parts":6000'), 'malformed'],
    ['an override without a time', textOf(OVERRIDDEN).replace(`"untilMs":${NOW_MS + 5_000}`, '"untilMs":"soon"'), 'malformed'],
    ['a factor beyond its bounds', textOf(OVERRIDDEN).replace('"multiply":3', '"multiply":3000'), 'malformed'],
    ['overrides in another order', textOf(OVERRIDDEN).replace('"number":3', '"number":5'), 'malformed'],
    ['a rule twice', textOf({ ...SNAPSHOT, rules: [RULES[0], RULES[0]] }), 'malformed'],
    ['more than anybody has', `0000000000000041"${'x'.repeat(8 * 1024 * 1024)}"`, 'too_large'],
    ['nothing after the version', '0000000000000041', 'malformed'],
    ['something else', 'x', 'malformed'],
  ];
  test.each(rows)('%s', (_what, text, reason) => {
    const found = parseMerchantSnapshot(text, 'acme');
    expect(reasonOf(found)).toBe(reason);
    expect('value' in found ? '' : found.detail.length).toBeLessThan(250);
  });

  test('messages that name no merchant', () => {
    for (const text of ['x', '', '7', '{}', '""', `"${'x'.repeat(129)}"`, '"\\u0000"', '["a"]', 'undefined', '"'.repeat(100_000)])
      expect('value' in parseChange(text)).toBe(false);
    expect([parseChange('"acme"'), parseChange('null')]).toEqual([{ value: 'acme' }, { value: null }]);
  });

  test('counters that are none', () => {
    expect([...parseChangeCounters({ default: '3', '7': '1', '1024': '1', '07': '1', '-1': '1', x: '1', ['__proto__']: '2' })]).toEqual([
      ['7', '1'],
      ['default', '3'],
    ]);
  });

  test('a list of busy merchants, as far as it is none', () => {
    expect(parseBusyMerchants('["a",7,null,"","b"]')).toEqual({ value: ['a', 'b'] });
    expect(valueOf(parseBusyMerchants(JSON.stringify(Array.from({ length: 5000 }, (_, i) => `m${i}`))))).toHaveLength(MOST_BUSY_MERCHANTS);
    expect(reasonOf(parseBusyMerchants('{"0":"a"}'))).toBe('malformed');
  });

  test('answers about the load that are none', () => {
    for (const answer of [null, undefined, 'OK', [], [1], [1, 0], [-1, 1], [0.5, 1], ['1', '1'], [NaN, 1]])
      expect(reasonOf(parsePlatformLoad(answer))).toBe('malformed');
    expect(parsePlatformLoad([12, 3])).toEqual({ value: { perSecond: 12, gateways: 3 } });
  });
});

describe('whatever stands in Redis, no parser throws, and what it lets in can be decided by', () => {
  const usual = runs(250);

  test('snapshots with something changed', () => {
    let read = 0;
    fc.assert(
      fc.property(fc.oneof(mutated(SNAPSHOT), mutated(OVERRIDDEN)), (value) => {
        const found = parseMerchantSnapshot(textOf(value), 'acme');
        if (!('value' in found)) return;
        read++;
        decideBy(found.value.rules, found.value.timeZone, found.value.overrides);
        expect(parseMerchantSnapshot(snapshotText(found.value), 'acme')).toEqual(found);
      }),
      usual,
    );
    // Otherwise nothing was decided by.
    expect(read).toBeGreaterThan(usual.numRuns / 25);
  });

  test('default rules with something changed', () => {
    fc.assert(
      fc.property(mutated({ version: 41, rules: RULES }), (value) => {
        const found = parseDefaultRules(textOf(value));
        if ('value' in found) decideBy(found.value.rules);
      }),
      usual,
    );
  });

  test('texts that are hardly JSON', () => {
    const text = snapshotText(SNAPSHOT);
    fc.assert(
      fc.property(nearlyJson(text), (odd) => {
        for (const each of [odd, `0000000000000041${odd}`]) {
          const found = parseMerchantSnapshot(each, 'acme');
          if ('value' in found) decideBy(found.value.rules);
          parseDefaultRules(each);
          parseChange(each);
          parseBusyMerchants(each);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('messages, lists, counters and answers of any shape', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const text = JSON.stringify(value) ?? '';
        parseChange(text);
        parseBusyMerchants(text);
        parsePlatformLoad(value);
        if (typeof value === 'object' && value !== null) parseChangeCounters(value as Record<string, unknown>);
      }),
      usual,
    );
  });
});
