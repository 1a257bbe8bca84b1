import { LAYERS, MODES, STORE_FAILURE_POLICIES } from '#limiter';
import type { RuleEntity } from '#rules-db';
import { ValidationPipe } from '../http/validation.pipe.js';
import { RuleDto, ruleSpec, ruleView } from './rule.dto.js';

const LIMIT = { name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1_000 };
const SPEC = {
  note: '',
  labels: {},
  name: 'card payments',
  layer: 'merchant',
  priority: 100,
  enabled: true,
  mode: 'enforce',
  match: { methods: [], paths: [] },
  key: ['merchant'],
  limits: [{ ...LIMIT, refill: 'greedy', onEdit: 'as_is', throttle: 'hard' }],
  cost: 1,
  onStoreFailure: 'local',
  penalty: null,
  consistency: 'exact',
};

/** One of each algorithm, with all of its fields. */
const EXAMPLES = [
  { name: 'cells', algorithm: 'gcra', capacity: 16, refillTokens: 30, refillIntervalMs: 60_000, onEdit: 'proportional' },
  {
    name: 'leak',
    algorithm: 'leaky_bucket',
    capacity: 10,
    drainTokens: 5,
    drainIntervalMs: 1_000,
    onEdit: 'reset',
    onLimit: { delay: { maxWaitMs: 2_000 } },
  },
  { name: 'minute', algorithm: 'fixed_window', limit: 100, windowMs: 60_000, start: 'first_request', onEdit: 'additive' },
  { name: 'month', algorithm: 'fixed_window', limit: 1_000, calendar: 'month', timeZone: 'Europe/Berlin', start: 'clock', onEdit: 'as_is' },
  { name: 'year', algorithm: 'fixed_window', limit: 1_000, calendar: 'year', start: 'clock' },
  { name: 'leap year', algorithm: 'sliding_counter', limit: 1_000, windowMs: 31_622_400_000, parts: 12 },
  { name: 'log', algorithm: 'sliding_log', limit: 1_000, windowMs: 1_000, onEdit: 'as_is' },
  {
    name: 'soft',
    algorithm: 'gcra',
    capacity: 100,
    refillTokens: 100,
    refillIntervalMs: 60_000,
    onEdit: 'as_is',
    throttle: 'soft',
    excessPercent: 10,
  },
  { name: 'elastic', algorithm: 'token_bucket', capacity: 100, refillTokens: 100, refillIntervalMs: 60_000, throttle: 'elastic' },
  {
    name: 'full minutes',
    algorithm: 'token_bucket',
    capacity: 100,
    refillTokens: 100,
    refillIntervalMs: 60_000,
    refill: 'interval',
    align: 'clock',
  },
  {
    name: 'midnights',
    algorithm: 'token_bucket',
    capacity: 200,
    refillTokens: 50,
    refill: 'interval',
    calendar: 'day',
    timeZone: 'Europe/Berlin',
    initialTokens: 50,
  },
  { name: 'months', algorithm: 'token_bucket', capacity: 600, refillTokens: 10, refill: 'interval', calendar: 'month' },
  { name: 'at once', algorithm: 'concurrency', limit: 10, slotTimeoutMs: 30_000, onEdit: 'as_is' },
  { name: 'counter', algorithm: 'sliding_counter', limit: 100, windowMs: 3_600_000, parts: 60, onEdit: 'as_is' },
];

/** The same limit with a capacity, or a limit, of 0. */
const forNobody = (limit: object) => ({
  ...limit,
  ...('capacity' in limit ? { capacity: 0 } : { limit: 0 }),
  ...('initialTokens' in limit && { initialTokens: 0 }),
});

const pipe = new ValidationPipe();
const read = (body: object) => ruleSpec(pipe.transform(body, { type: 'body', metatype: RuleDto }) as RuleDto);

describe('RuleDto', () => {
  it('becomes a spec with every default and no field that is undefined', () => {
    const spec = read({ name: 'card payments', limits: [LIMIT] });
    expect(spec).toStrictEqual(SPEC);
    expect(Object.keys(spec.limits[0] ?? {})).not.toContain('initialTokens');
  });

  it('does not share its defaults between requests', () => {
    const first = read({ name: 'a', limits: [LIMIT] });
    (first.match.methods as string[]).push('GET');
    (first.key as string[]).push('ip');
    expect(read({ name: 'b', limits: [LIMIT] })).toMatchObject({ match: { methods: [] }, key: ['merchant'] });
  });

  it.each([
    ...LAYERS.map((layer) => ({ layer, ...(layer === 'user' && { key: ['merchant', 'user'] }) })),
    ...MODES.map((mode) => ({ mode })),
    ...STORE_FAILURE_POLICIES.map((onStoreFailure) => ({ onStoreFailure })),
    { key: [] },
    { key: ['merchant', 'ip', 'method'] },
    { priority: 0 },
    { match: { methods: ['GET', 'M-SEARCH'], paths: ['/', '/a/*', '/a/**', '/ü'] } },
    { limits: [{ ...LIMIT, refill: 'interval', initialTokens: 0 }] },
    ...EXAMPLES.map((limit) => ({ limits: [limit] })),
    { limits: EXAMPLES.slice(0, 8) },
    ...EXAMPLES.map((limit) => ({ limits: [forNobody(limit)] })),
    { penalty: { refusals: 100, windowMs: 60_000, blockMs: 300_000 } },
    { penalty: null },
  ])('takes %j', (fields) => expect(read({ name: 'a', limits: [LIMIT], ...fields })).toMatchObject(fields));
});

describe('limits that are refused', () => {
  const faultsOf = (limit: object): unknown => {
    try {
      return read({ name: 'a', limits: [{ name: 'l', ...limit }] });
    } catch (error) {
      return (
        (error as { options?: { errors: unknown }; problem?: { errors: unknown } }).problem?.errors ??
        (error as { errors?: unknown }).errors
      );
    }
  };

  it.each([
    [
      { algorithm: 'leaky' },
      '/limits/0/algorithm',
      'must be one of token_bucket, gcra, leaky_bucket, fixed_window, sliding_log, sliding_counter, concurrency, got "leaky"',
    ],
    [
      { algorithm: 'gcra', capacity: 1, refillTokens: 1, refillIntervalMs: 1, refill: 'greedy' },
      '/limits/0/refill',
      'is not a field that is known here',
    ],
    [
      { algorithm: 'leaky_bucket', capacity: 1, drainIntervalMs: 1000 },
      '/limits/0/drainTokens',
      'must be a whole number from 1 to 1000000000, got nothing',
    ],
    [
      { algorithm: 'leaky_bucket', capacity: 1, drainTokens: 2000, drainIntervalMs: 1 },
      '/limits/0/drainTokens',
      'must be at most 1000 for an interval of 1 ms (1000000 tokens a second), got 2000; the nearest is 1000',
    ],
    [
      { algorithm: 'token_bucket', capacity: 1, refillTokens: 1, refill: 'interval' },
      '/limits/0/refillIntervalMs',
      'must be a whole number from 1 to 31622400000, got nothing',
    ],
    [
      { algorithm: 'token_bucket', capacity: 1, refillTokens: 1, refillIntervalMs: 1000, align: 'clock' },
      '/limits/0/align',
      'goes with refill \'interval\' only, got "clock"',
    ],
    [
      { algorithm: 'token_bucket', capacity: 301, refillTokens: 5, refill: 'interval', calendar: 'day' },
      '/limits/0/capacity',
      'must be filled within 60 steps of the calendar, got 301; the nearest is 300',
    ],
    [
      { algorithm: 'gcra', capacity: 1, refillTokens: 1, refillIntervalMs: 1000, align: 'clock' },
      '/limits/0/align',
      'is not a field that is known here',
    ],
    [{ algorithm: 'fixed_window', limit: 1 }, '/limits/0/windowMs', 'must be given, or calendar instead of it, but not both'],
    [
      { algorithm: 'fixed_window', limit: 1, windowMs: 1, calendar: 'day' },
      '/limits/0/windowMs',
      'must be given, or calendar instead of it, but not both',
    ],
    [
      { algorithm: 'fixed_window', limit: 1, calendar: 'day', timeZone: 'Europe/Bärlin' },
      '/limits/0/timeZone',
      'must be an IANA time zone like Europe/Berlin, got "Europe/Bärlin"',
    ],
    [
      { algorithm: 'fixed_window', limit: 1, calendar: 'day', start: 'first_request' },
      '/limits/0/start',
      'must be \'clock\' with a calendar, got "first_request"',
    ],
    [
      { algorithm: 'sliding_log', limit: 1, windowMs: 1, throttle: 'elastic', excessPercent: 5 },
      '/limits/0/excessPercent',
      "goes with throttle 'soft' only, got 5",
    ],
    [
      {
        algorithm: 'leaky_bucket',
        capacity: 1,
        drainTokens: 1,
        drainIntervalMs: 1000,
        throttle: 'elastic',
        onLimit: { delay: { maxWaitMs: 1 } },
      },
      '/limits/0/throttle',
      "must be 'hard' or 'soft' for a queue: what is over its limit would overtake those that wait, got \"elastic\"",
    ],
    [
      { algorithm: 'sliding_log', limit: 1, windowMs: 1, throttle: 'soft' },
      '/limits/0/excessPercent',
      'must be a whole number from 1 to 100, got nothing',
    ],
    [
      { algorithm: 'sliding_log', limit: 1, windowMs: 1, excessPercent: 5 },
      '/limits/0/excessPercent',
      "goes with throttle 'soft' only, got 5",
    ],
    [
      { algorithm: 'leaky_bucket', capacity: 1, drainTokens: 1, drainIntervalMs: 1000, onLimit: { delay: {} } },
      '/limits/0/onLimit',
      'must be { "delay": { "maxWaitMs": n } } with a whole number from 1 to 30000, got {"delay":{}}',
    ],
    [
      { algorithm: 'gcra', capacity: 1, refillTokens: 1, refillIntervalMs: 1000, onLimit: { delay: { maxWaitMs: 1 } } },
      '/limits/0/onLimit',
      'is not a field that is known here',
    ],
    [
      { algorithm: 'sliding_log', limit: 1001, windowMs: 1 },
      '/limits/0/limit',
      'must be a whole number from 0 to 1000, because a log keeps every request (sliding_counter has no such bound), got 1001; the nearest is 1000',
    ],
    [
      { algorithm: 'sliding_counter', limit: 1, windowMs: 1000, parts: 7 },
      '/limits/0/windowMs',
      'must be whole microseconds when divided into 7 parts, got 1000; the nearest is 1001',
    ],
    [
      { algorithm: 'sliding_counter', limit: 1, windowMs: 1000, onEdit: 'never' },
      '/limits/0/onEdit',
      "must be one of 'as_is', 'proportional', 'reset', 'additive', got \"never\"",
    ],
  ])('%j', (limit, pointer, detail) => {
    expect(faultsOf(limit)).toEqual([{ pointer, code: expect.stringMatching(/^limit\.\w+(\.\w+)?$/) as string, detail }]);
  });
});

describe('ruleView', () => {
  it('shows what was written, and not what the limiter remembers', () => {
    const stored = {
      ...SPEC,
      id: '17',
      merchantId: 'acme',
      limits: [{ ...SPEC.limits[0], initialTokens: 3, id: 0, generation: 2, since: { atMs: 1, tokens: 3 }, previous: [] }],
      version: 4,
      createdAt: new Date(0),
      updatedAt: new Date(1_000),
    } as unknown as RuleEntity;
    expect(ruleView(stored)).toStrictEqual({
      ...SPEC,
      id: '17',
      limits: [{ ...SPEC.limits[0], initialTokens: 3 }],
      version: 4,
      createdAt: '1970-01-01T00:00:00.000Z',
      updatedAt: '1970-01-01T00:00:01.000Z',
    });
  });
});
