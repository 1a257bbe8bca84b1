import { completed } from '../fields/field-faults.js';
import { RULE_FIELDS, type RuleSpec } from '../rules/rule.js';
import { ruleWarnings } from './rule-warnings.js';

const NOW_MS = Date.parse('2026-11-22T10:00:00Z');
const BURST = { name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1_000 };

const MONDAY_TO_WEDNESDAY = { validFrom: '2027-01-04T00:00:00+01:00', validTo: '2027-01-07T00:00:00+01:00' };
const saturdays = (timeZone?: string) => ({ ...(timeZone && { timeZone }), weekly: [{ days: ['sat'], from: '00:00', to: '06:00' }] });

const matchOf = (...inRanges: string[]) => ({ methods: [], paths: ['/**'], all: [{ field: 'ip', inRanges }] });

function warningsOf(rule: object, ...others: object[]) {
  const spec = completed({ name: 'r', limits: [BURST, ...others], ...rule }, RULE_FIELDS);
  return ruleWarnings({ ...spec, ...rule, limits: spec['limits'] } as unknown as RuleSpec, NOW_MS).map(
    ({ code, pointer }) => `${code} ${pointer}`,
  );
}

it.each([
  ['an ordinary rule', {}, []],
  ['a capacity below the refill', { limits: [{ ...BURST, capacity: 4 }] }, ['limit.capacity.below_refill /limits/0/capacity']],
  ['the same in steps', { limits: [{ ...BURST, capacity: 4, refill: 'interval' }] }, ['limit.capacity.below_refill /limits/0/capacity']],
  ['a capacity of nothing, on purpose', { limits: [{ ...BURST, capacity: 0 }] }, []],
  ['a small burst of cells', { limits: [{ name: 'c', algorithm: 'gcra', capacity: 16, refillTokens: 30, refillIntervalMs: 60_000 }] }, []],
  ['an expression', { match: { methods: [], paths: ['/a', '/v1/.*'] } }, ['rule.match.paths.looks_like_expression /match/paths/1']],
  ['a key of whole addresses', { key: ['merchant', 'ip'] }, ['rule.key.whole_address /key/1']],
  ['a key of prefixes', { key: ['merchant', 'ip.prefix'] }, []],
  ['whole addresses of IPv4 only', { key: ['ip'], match: matchOf('10.0.0.0/8', '192.168.0.0/16') }, []],
  ['whole addresses of both kinds', { key: ['ip'], match: matchOf('10.0.0.0/8', '2001:db8::/32') }, ['rule.key.whole_address /key/0']],
  ['a validity that is over', { validTo: '2026-11-22T11:00:00+01:00' }, ['rule.valid_to.past /validTo']],
  ['a validity that goes on', { validFrom: '2020-01-01T00:00:00Z', validTo: '2026-11-22T10:00:01Z' }, []],
  [
    'a validity without a moment',
    { validFrom: '2027-01-02T00:00:00Z', validTo: '2027-01-02T00:00:00Z' },
    ['rule.valid_to.before_start /validTo'],
  ],
  ['no validity', { validFrom: null, validTo: null, schedule: null }, []],
  ['a schedule without a day', { schedule: { weekly: [{ days: [], from: '01:00', to: '06:00' }] } }, ['rule.schedule.never /schedule']],
  [
    'windows that are never open while the rule is valid',
    { ...MONDAY_TO_WEDNESDAY, schedule: saturdays('Europe/Berlin') },
    ['rule.schedule.never /schedule'],
  ],
  ['the same by the clocks of any merchant', { ...MONDAY_TO_WEDNESDAY, schedule: saturdays() }, ['rule.schedule.never /schedule']],
  [
    'a window that opens in its last minute',
    { ...MONDAY_TO_WEDNESDAY, validTo: '2027-01-08T23:00:00.001Z', schedule: saturdays('Europe/Berlin') },
    [],
  ],
  [
    'a window that closes as the rule becomes valid',
    { validFrom: '2027-01-09T05:00:00Z', validTo: '2027-01-15T23:00:00Z', schedule: saturdays('Europe/Berlin') },
    ['rule.schedule.never /schedule'],
  ],
  [
    'a window that opens where clocks are far ahead',
    { ...MONDAY_TO_WEDNESDAY, validTo: '2027-01-08T10:30:00Z', schedule: saturdays() },
    [],
  ],
  [
    'a window that was open before now',
    { validFrom: '2026-11-20T00:00:00Z', validTo: '2026-11-25T00:00:00Z', schedule: saturdays('Etc/UTC') },
    ['rule.schedule.never /schedule'],
  ],
  ['a week has every window', { validFrom: '2027-01-04T00:00:00Z', validTo: '2027-01-11T00:00:00Z', schedule: saturdays('Etc/UTC') }, []],
  ['a schedule', { schedule: { weekly: [{ days: ['mon'], from: '01:00', to: '06:00' }] } }, []],
  ['a leased bucket', { consistency: 'leased', onStoreFailure: 'leased' }, []],
  ['an optimistic bucket', { consistency: 'optimistic' }, []],
  [
    'a leased limit that cannot be lent',
    { consistency: 'leased', limits: [BURST, { name: 'log', algorithm: 'sliding_log', limit: 12, windowMs: 1000 }] },
    ['rule.consistency.exact /limits/1'],
  ],
  [
    'a leased rule with a penalty',
    { consistency: 'leased', onStoreFailure: 'leased', penalty: { refusals: 5, windowMs: 1000, blockMs: 1000 } },
    ['rule.consistency.exact /penalty', 'rule.on_store_failure.nothing_lent /onStoreFailure'],
  ],
  [
    'an optimistic rule that reserves a share',
    { consistency: 'optimistic', reserve: [{ name: 'posts', methods: ['POST'], percent: 20 }] },
    ['rule.consistency.exact /reserve'],
  ],
  ['an exact rule that is to spend leases', { onStoreFailure: 'leased' }, ['rule.on_store_failure.nothing_lent /onStoreFailure']],
  [
    'an optimistic rule that is to spend leases',
    { consistency: 'optimistic', onStoreFailure: 'leased' },
    ['rule.on_store_failure.nothing_lent /onStoreFailure'],
  ],
])('of %s', (_what, rule, expected) => expect(warningsOf(rule)).toEqual(expected));

it('the warning names the superfluous limit and the reason', () => {
  const day = { name: 'a day', algorithm: 'fixed_window', limit: 100, calendar: 'day' };
  const month = { name: 'a month', algorithm: 'fixed_window', limit: 5_000, calendar: 'month' };
  const spec = completed({ name: 'r', limits: [day, month] }, RULE_FIELDS) as unknown as RuleSpec;
  expect(ruleWarnings(spec, NOW_MS)).toEqual([
    {
      code: 'limit.unreachable',
      pointer: '/limits/1',
      detail: 'the limit "a month" of 5000 makes no difference: the limit "a day" of 100 always refuses first',
    },
  ]);
});

it('the later of two equal limits is superfluous', () =>
  expect(warningsOf({}, { ...BURST, name: 'again' })).toEqual(['limit.unreachable /limits/1']));
