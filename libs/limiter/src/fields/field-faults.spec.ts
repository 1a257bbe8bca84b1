import { CONSISTENCIES } from '../rules/consistency.js';
import { FAULT_REASONS } from './field.js';
import { completed, objectFaults } from './field-faults.js';
import { nearestName } from './nearest-name.js';
import { RULE_FIELDS } from '../rules/rule.js';

const BUCKET = { name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1_000 };
const WINDOW = { name: 'day', algorithm: 'fixed_window', limit: 5 };
const RULE = { name: 'card payments', limits: [BUCKET] };
const SHARE = { name: 'captures', methods: ['POST'], paths: ['/transactions/*/capture'], percent: 20 };

const faultsOf = (rule: object) => objectFaults(rule as Record<string, unknown>, RULE_FIELDS, { pointer: '', code: 'rule' });
const limited = (changes: object) => ({ ...RULE, limits: [{ ...BUCKET, ...changes }] });

describe('the code of a fault', () => {
  const ROWS: [object, string, string][] = [
    [{ limits: [BUCKET] }, '/name', 'rule.name.missing'],
    [{ ...RULE, name: 7 }, '/name', 'rule.name.wrong_type'],
    [{ ...RULE, name: ' x' }, '/name', 'rule.name.malformed'],
    [{ ...RULE, prio: 1 }, '/prio', 'rule.unknown_field'],
    [{ ...RULE, enabled: 'yes' }, '/enabled', 'rule.enabled.wrong_type'],
    [{ ...RULE, mode: 'off' }, '/mode', 'rule.mode.not_one_of'],
    [{ ...RULE, mode: { enforcePercent: 101 } }, '/mode/enforcePercent', 'rule.mode.enforcePercent.out_of_range'],
    [{ ...RULE, mode: {} }, '/mode/enforcePercent', 'rule.mode.enforcePercent.missing'],
    [{ ...RULE, mode: null }, '/mode', 'rule.mode.wrong_type'],
    [{ ...RULE, key: ['ip', 'city'] }, '/key/1', 'rule.key.malformed'],
    [{ ...RULE, key: ['ip', 'ip'] }, '/key/1', 'rule.key.repeated'],
    [{ ...RULE, key: ['jwt.'] }, '/key/0', 'rule.key.malformed'],
    [{ ...RULE, key: ['response.status'] }, '/key/0', 'rule.key.not_applicable'],
    [{ ...RULE, match: { all: [{ field: 'jwt.', equals: 'a' }] } }, '/match/all/0/field', 'condition.field.malformed'],
    [
      { ...RULE, match: { all: [{ not: { not: { not: { not: { not: { field: 'ip', equals: '' } } } } } }] } },
      '/match/all/0/not/not/not/not/not',
      'condition.too_complex',
    ],
    [{ ...RULE, cost: 0 }, '/cost', 'rule.cost.out_of_range'],
    [{ ...RULE, cost: { field: 'body.amount' } }, '/cost/max', 'rule.cost.max.missing'],
    [{ ...RULE, cost: { field: 'amount', max: 5 } }, '/cost/field', 'rule.cost.field.malformed'],
    [{ ...RULE, cost: { field: 'body.amount', max: 5, scale: 0 } }, '/cost/scale', 'rule.cost.scale.out_of_range'],
    [{ ...RULE, cost: { field: 'body.amount', max: 5, min: 6 } }, '/cost/min', 'rule.cost.min.out_of_range'],
    [{ ...RULE, cost: { field: 'body.amount', max: 5, ifInvalid: 'absent' } }, '/cost/ifInvalid', 'rule.cost.ifInvalid.not_one_of'],
    [{ ...RULE, charge: 'response' }, '/charge', 'rule.charge.wrong_type'],
    [{ ...RULE, charge: { on: 'answer' } }, '/charge', 'rule.charge.malformed'],
    [{ ...RULE, charge: { on: 'response' } }, '/charge/when', 'condition.missing'],
    [{ ...RULE, charge: { on: 'request', when: {} } }, '/charge/when', 'rule.charge.unknown_field'],
    [
      { ...RULE, charge: { on: 'response', when: { any: [{ field: 'body.amount', absent: true }] } } },
      '/charge/when/any/0/field',
      'condition.field.not_applicable',
    ],
    [{ ...RULE, reserve: {} }, '/reserve', 'rule.reserve.wrong_type'],
    [{ ...RULE, reserve: Array(9).fill(SHARE) }, '/reserve', 'rule.reserve.wrong_length'],
    [{ ...RULE, reserve: [{ ...SHARE, percent: 0 }] }, '/reserve/0/percent', 'rule.reserve.percent.out_of_range'],
    [{ ...RULE, reserve: [{ ...SHARE, percent: 100 }] }, '/reserve/0/percent', 'rule.reserve.percent.out_of_range'],
    [{ ...RULE, reserve: [{ ...SHARE, percent: undefined }] }, '/reserve/0/percent', 'rule.reserve.percent.missing'],
    [{ ...RULE, reserve: [{ name: 'all', percent: 20, paths: [] }] }, '/reserve/0/paths', 'rule.reserve.paths.missing'],
    [{ ...RULE, reserve: [{ ...SHARE, paths: ['captures'] }] }, '/reserve/0/paths/0', 'rule.reserve.paths.malformed'],
    [{ ...RULE, reserve: [{ ...SHARE, methods: ['post'] }] }, '/reserve/0/methods/0', 'rule.reserve.methods.malformed'],
    [{ ...RULE, reserve: [{ ...SHARE, path: '/' }] }, '/reserve/0/path', 'rule.reserve.unknown_field'],
    [{ ...RULE, reserve: [SHARE, SHARE] }, '/reserve/1/name', 'rule.reserve.name.repeated'],
    [
      { ...RULE, reserve: [SHARE, { ...SHARE, name: 'b', percent: 70 }, { ...SHARE, name: 'c' }] },
      '/reserve/2/percent',
      'rule.reserve.percent.out_of_range',
    ],
    [{ ...RULE, consistency: 'lease' }, '/consistency', 'rule.consistency.not_one_of'],
    [{ ...RULE, consistency: null }, '/consistency', 'rule.consistency.wrong_type'],
    [{ ...RULE, onStoreFailure: 'leases' }, '/onStoreFailure', 'rule.onStoreFailure.not_one_of'],
    [{ ...RULE, onUnreadableBody: 'pass' }, '/onUnreadableBody', 'rule.onUnreadableBody.not_one_of'],
    [{ ...RULE, onLimit: { reroute: 'Slow lane' } }, '/onLimit/reroute', 'rule.onLimit.reroute.malformed'],
    [{ ...RULE, onLimit: {} }, '/onLimit/reroute', 'rule.onLimit.reroute.missing'],
    [{ ...RULE, onLimit: { reroute: 'slow', delay: {} } }, '/onLimit/delay', 'rule.onLimit.unknown_field'],
    [{ ...RULE, onLimit: 'slow' }, '/onLimit', 'rule.onLimit.wrong_type'],
    [{ ...RULE, priority: 1.5 }, '/priority', 'rule.priority.not_whole'],
    [{ ...RULE, match: { methods: ['GET', 'GET'] } }, '/match/methods/1', 'rule.match.methods.repeated'],
    [{ ...RULE, match: { hosts: [] } }, '/match/hosts', 'rule.match.unknown_field'],
    [{ ...RULE, penalty: { windowMs: 1_000, blockMs: 1_000 } }, '/penalty/refusals', 'rule.penalty.refusals.missing'],
    [{ ...RULE, limits: [] }, '/limits', 'rule.limits.wrong_length'],
    [{ ...RULE, limits: [BUCKET, BUCKET] }, '/limits/1/name', 'limit.name.repeated'],
    [{ ...RULE, limits: [{ name: 'x' }] }, '/limits/0/algorithm', 'limit.algorithm.missing'],
    [limited({ algorithm: 'magic' }), '/limits/0/algorithm', 'limit.algorithm.not_one_of'],
    [limited({ capacity: -1 }), '/limits/0/capacity', 'limit.capacity.out_of_range'],
    [limited({ capcity: 1 }), '/limits/0/capcity', 'limit.unknown_field'],
    [limited({ onLimit: { reroute: 'slow' } }), '/limits/0/onLimit', 'limit.onLimit.not_enforced'],
    [limited({ onLimit: { delay: { maxWaitMs: 5 } } }), '/limits/0/onLimit', 'limit.unknown_field'],
    [
      {
        ...RULE,
        limits: [
          { name: 'q', algorithm: 'leaky_bucket', capacity: 5, drainTokens: 5, drainIntervalMs: 1_000, onLimit: { reroute: 'slow' } },
        ],
      },
      '/limits/0/onLimit',
      'limit.onLimit.not_enforced',
    ],
    [limited({ excessPercent: 5 }), '/limits/0/excessPercent', 'limit.excessPercent.not_applicable'],
    [limited({ throttle: 'soft' }), '/limits/0/excessPercent', 'limit.excessPercent.missing'],
    [limited({ refillTokens: 5_000, refillIntervalMs: 1 }), '/limits/0/refillTokens', 'limit.refillTokens.too_fast'],
    [limited({ refillTokens: 999_999_937, refillIntervalMs: 1_000_000 }), '/limits/0/refillTokens', 'limit.refillTokens.inexact'],
    [limited({ capacity: 1e9, refillTokens: 1, refillIntervalMs: 60_000 }), '/limits/0/capacity', 'limit.capacity.too_slow'],
    [limited({ capacity: 0, initialTokens: 1 }), '/limits/0/initialTokens', 'limit.initialTokens.surplus_of_nothing'],
    [
      limited({ refillIntervalMs: undefined, refill: 'interval', calendar: 'day', capacity: 301 }),
      '/limits/0/capacity',
      'limit.capacity.too_many_steps',
    ],
    [
      { ...RULE, limits: [{ name: 'x', algorithm: 'sliding_counter', limit: 1, windowMs: 1_000, parts: 7 }] },
      '/limits/0/windowMs',
      'limit.windowMs.not_divisible',
    ],
    [{ ...RULE, limits: [WINDOW] }, '/limits/0/windowMs', 'limit.windowMs.missing'],
    [{ ...RULE, limits: [{ ...WINDOW, windowMs: 1, calendar: 'day' }] }, '/limits/0/windowMs', 'limit.windowMs.not_applicable'],
    [{ ...RULE, limits: [{ ...WINDOW, calendar: 'day', timeZone: 'Mars/Phobos' }] }, '/limits/0/timeZone', 'limit.timeZone.malformed'],
  ];

  it.each(ROWS)('%j: %s has the code %s', (rule, pointer, code) => {
    expect(faultsOf(rule)).toEqual([expect.objectContaining({ pointer, code })]);
  });

  it('every reason has a row above', () => {
    const reasons = new Set(ROWS.map(([, , code]) => code.split('.').at(-1)));
    expect([...reasons].sort()).toEqual(Object.keys(FAULT_REASONS).sort());
  });
});

it.each([null, [], [SHARE], [{ name: 'posts', methods: ['POST'], percent: 99 }], [{ ...SHARE, methods: [] }]])(
  '%j may be reserved',
  (reserve) => {
    expect(faultsOf({ ...RULE, reserve })).toEqual([]);
  },
);

describe('consistency', () => {
  it.each(CONSISTENCIES)('%s is accepted and kept', (consistency) => {
    expect(faultsOf({ ...RULE, consistency })).toEqual([]);
    expect(completed({ ...RULE, consistency }, RULE_FIELDS)).toMatchObject({ consistency });
  });

  it('is exact unless it is given', () => expect(completed(RULE, RULE_FIELDS)).toMatchObject({ consistency: 'exact' }));
});

describe('a misspelt field', () => {
  it.each([
    ['capcity', 'capacity'],
    ['Capacity', 'capacity'],
    ['refilTokens', 'refillTokens'],
    ['refill_tokens', 'refillTokens'],
    ['burst', undefined],
    ['x', undefined],
    ['', undefined],
    ['capacity'.repeat(100), undefined],
  ])('%s means %s', (name, meant) => expect(nearestName(name, ['capacity', 'refillTokens', 'refill'])).toBe(meant));

  it('is told with the field that may be meant', () => {
    expect(faultsOf(limited({ capcity: 1 }))[0]?.detail).toBe('is not a field that is known here; did you mean "capacity"?');
    expect(faultsOf(limited({ burst: 1 }))[0]?.detail).toBe('is not a field that is known here');
  });

  it('is one fault with all others where there are more than 100, because for each a similar name would be sought', () => {
    const crowd = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`field${i}`, 1]));
    expect(faultsOf({ ...RULE, ...crowd(100) })).toHaveLength(100);
    expect(faultsOf({ ...RULE, priority: 1.5, ...crowd(30_000) })).toEqual([
      { pointer: '', code: 'rule.unknown_field', detail: 'has 30000 fields that are not known here' },
      expect.objectContaining({ code: 'rule.priority.not_whole' }),
    ]);
    expect(faultsOf(limited(crowd(101)))).toEqual([expect.objectContaining({ pointer: '/limits/0', code: 'limit.unknown_field' })]);
  });
});
