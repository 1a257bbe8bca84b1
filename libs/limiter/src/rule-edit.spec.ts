import { burst, FakeClock } from '../testing/index.js';
import type { Descriptor } from './matching/descriptor.js';
import type { LimitSpec, TokenBucketSpec } from './limits/limit.js';
import { editLimits, moveLimits, startLimits } from './limits/limit-edit.js';
import { MemoryBucketStore } from './stores/memory-bucket-store.js';
import { merchantRules } from './matching/merchant-rules.js';
import { RateLimiter } from './rate-limiter.js';
import type { Rule, RuleSpec } from './rules/rule.js';
import type { Verdict } from './verdict.js';

/** What an edit of a rule does to its live buckets: the rows of docs/algorithms.md, "When anything else of a rule changes". */

const HOUR_MS = 3_600_000;

const bucket = (name: string, capacity: number, fields: Partial<TokenBucketSpec> = {}): LimitSpec =>
  burst({ name, capacity, refillTokens: 1, refillIntervalMs: HOUR_MS, ...fields });

const A = bucket('a', 10);
const B = bucket('b', 100);
const BASE: RuleSpec = {
  name: 'rule',
  layer: 'merchant',
  priority: 100,
  enabled: true,
  mode: 'enforce',
  match: { methods: [], paths: [] },
  key: ['merchant'],
  limits: [A, B],
  cost: 1,
  onStoreFailure: 'local',
};

const REQUEST: Descriptor = { merchantId: 'acme', ip: '192.0.2.1', method: 'POST', target: '/transactions' };

/** As the repository does it: a replaced rule keeps its id, and the history of its limits. */
const created = (spec: RuleSpec, atMs = 0, id = '7'): Rule => ({ ...spec, id, limits: startLimits(spec.limits, atMs) });
const replaced = (rule: Rule, spec: RuleSpec, atMs: number): Rule => ({
  ...spec,
  id: rule.id,
  limits: editLimits(rule.limits, spec.limits, atMs),
});

/** Requests against whatever rules there are, on buckets that outlive them. */
function gateway() {
  const clock = new FakeClock();
  const limiter = new RateLimiter(new MemoryBucketStore(clock.now), new MemoryBucketStore(clock.now));
  const ask = (rules: readonly Rule[], fields: Partial<Descriptor> = {}, timeZone?: string): Promise<Verdict> =>
    new Promise((resolve, reject) =>
      limiter.check(merchantRules('acme', rules, [], { timeZone }), { ...REQUEST, ...fields }, (outcome) =>
        outcome instanceof Error ? reject(outcome) : resolve(outcome),
      ),
    );
  return { clock, ask };
}

/** By limit, in the order of the verdict. */
const left = (verdict: Verdict): [string, number][] => verdict.limits.map(({ limit, decision }) => [limit.name, decision.remaining]);

/** Four requests have left 6 of 10 and 96 of 100; the next request, after these edits, leaves what `expected` says. */
const ROWS: { title: string; base?: Partial<RuleSpec>; edits: Partial<RuleSpec>[]; apartMs?: number; expected: [string, number][] }[] = [
  {
    title: 'a new name of the rule: nothing',
    edits: [{ name: 'other' }],
    expected: [
      ['a', 5],
      ['b', 95],
    ],
  },
  {
    title: 'a new name of a limit: its buckets stay',
    edits: [{ limits: [bucket('x', 10), B] }],
    expected: [
      ['x', 5],
      ['b', 95],
    ],
  },
  {
    title: 'another order of limits: their buckets stay',
    edits: [{ limits: [B, A] }],
    expected: [
      ['b', 95],
      ['a', 5],
    ],
  },
  {
    title: 'names exchanged: a bucket stays with its name, and is cut to the new numbers',
    edits: [{ limits: [bucket('b', 10), bucket('a', 100)] }],
    expected: [
      ['b', 9],
      ['a', 5],
    ],
  },
  {
    title: 'another order and new names at once: they are known by their numbers',
    edits: [{ limits: [bucket('y', 100), bucket('x', 10)] }],
    expected: [
      ['y', 95],
      ['x', 5],
    ],
  },
  {
    title: 'a limit more: it begins full, the others stay',
    edits: [{ limits: [bucket('c', 50), A, B] }],
    expected: [
      ['c', 49],
      ['a', 5],
      ['b', 95],
    ],
  },
  { title: 'a limit less: the others stay', edits: [{ limits: [B] }], expected: [['b', 95]] },
  {
    title: 'a limit that was removed and comes back: it begins full',
    edits: [{ limits: [B] }, { limits: [A, B] }],
    expected: [
      ['a', 9],
      ['b', 95],
    ],
  },
  {
    title: 'a limit in the place of another: it takes over its tokens',
    edits: [{ limits: [bucket('c', 1000), B] }],
    expected: [
      ['c', 5],
      ['b', 95],
    ],
  },
  {
    title: 'onEdit alone: nothing',
    edits: [{ limits: [{ ...A, onEdit: 'reset' }, B] }],
    expected: [
      ['a', 5],
      ['b', 95],
    ],
  },
  {
    title: 'initialTokens alone: nothing',
    edits: [{ limits: [bucket('a', 10, { initialTokens: 10 }), B] }],
    expected: [
      ['a', 5],
      ['b', 95],
    ],
  },
  {
    title: 'hard to soft: the excess belongs to the capacity, and is not given on top',
    edits: [{ limits: [{ ...A, throttle: 'soft', excessPercent: 50 }, B] }],
    expected: [
      ['a', 0],
      ['b', 95],
    ],
  },
  {
    title: 'the algorithm: as onEdit says',
    edits: [{ limits: [{ name: 'a', algorithm: 'fixed_window', limit: 10, windowMs: HOUR_MS, start: 'clock' }, B] }],
    expected: [
      ['a', 5],
      ['b', 95],
    ],
  },
  {
    title: 'the algorithm, to one of slots: none is held',
    edits: [{ limits: [{ name: 'a', algorithm: 'concurrency', limit: 10, slotTimeoutMs: HOUR_MS }, B] }],
    expected: [
      ['a', 9],
      ['b', 95],
    ],
  },
  {
    title: 'the algorithm, to one of slots and back: what is not held',
    edits: [{ limits: [{ name: 'a', algorithm: 'concurrency', limit: 10, slotTimeoutMs: HOUR_MS }, B] }, {}],
    expected: [
      ['a', 9],
      ['b', 95],
    ],
  },
  {
    title: 'match: the buckets stay, whatever comes to them',
    edits: [{ match: { methods: ['POST'], paths: ['/**'] } }],
    expected: [
      ['a', 5],
      ['b', 95],
    ],
  },
  {
    title: 'priority: the buckets stay',
    edits: [{ priority: 7 }],
    expected: [
      ['a', 5],
      ['b', 95],
    ],
  },
  {
    title: 'layer: the buckets stay',
    edits: [{ layer: 'user' }],
    expected: [
      ['a', 5],
      ['b', 95],
    ],
  },
  {
    title: 'cost: the buckets stay, and requests take more',
    edits: [{ cost: 3 }],
    expected: [
      ['a', 3],
      ['b', 93],
    ],
  },
  {
    title: 'onStoreFailure: nothing',
    edits: [{ onStoreFailure: 'closed' }],
    expected: [
      ['a', 5],
      ['b', 95],
    ],
  },
  {
    title: 'mode, to shadow and back: the buckets stay',
    edits: [{ mode: 'shadow' }, {}],
    expected: [
      ['a', 5],
      ['b', 95],
    ],
  },
  {
    title: 'mode, from shadow: what was counted in the shadow counts',
    base: { mode: 'shadow' },
    edits: [{ mode: 'enforce' }],
    expected: [
      ['a', 5],
      ['b', 95],
    ],
  },
  {
    title: 'disabled and enabled two hours later: what was there, and two hours of refill',
    edits: [{ enabled: false }, {}],
    apartMs: 2 * HOUR_MS,
    expected: [
      ['a', 7],
      ['b', 97],
    ],
  },
  {
    title: 'numbers edited while it is disabled: as onEdit says, at the time of the edit',
    edits: [{ enabled: false, limits: [bucket('a', 7), B] }, { limits: [bucket('a', 7), B] }],
    apartMs: 2 * HOUR_MS,
    expected: [
      ['a', 6],
      ['b', 97],
    ],
  },
  {
    title: 'key: other keys are other buckets, which begin full',
    edits: [{ key: ['merchant', 'ip'] }],
    expected: [
      ['a', 9],
      ['b', 99],
    ],
  },
  {
    title: 'key, and back: the former buckets, where they have not expired',
    edits: [{ key: ['merchant', 'ip'] }, {}],
    expected: [
      ['a', 5],
      ['b', 95],
    ],
  },
  {
    title: 'key, the same parts in another order: the same buckets',
    base: { key: ['ip', 'method'] },
    edits: [{ key: ['method', 'ip'] }],
    expected: [
      ['a', 5],
      ['b', 95],
    ],
  },
];

test.each(ROWS)('$title', async ({ base = {}, edits, apartMs = 0, expected }) => {
  const { clock, ask } = gateway();
  let rule = created({ ...BASE, ...base });
  for (let i = 0; i < 4; i++) await ask([rule]);
  for (const [i, edit] of edits.entries()) {
    if (i > 0) clock.advance(apartMs);
    rule = replaced(rule, { ...BASE, ...base, ...edit }, clock.nowMs);
  }
  expect(left(await ask([rule]))).toEqual(expected);
});

test('while a rule is disabled everything passes, and nothing is taken', async () => {
  const { ask } = gateway();
  const rule = created(BASE);
  await ask([rule]);
  const off = replaced(rule, { ...BASE, enabled: false }, 0);
  for (let i = 0; i < 20; i++) expect(await ask([off])).toMatchObject({ allowed: true, reason: 'no_matching_rule' });
  expect(left(await ask([replaced(off, BASE, 0)]))).toEqual([
    ['a', 8],
    ['b', 98],
  ]);
});

test('a rule that is deleted and created again has another id, and full buckets', async () => {
  const { ask } = gateway();
  for (let i = 0; i < 4; i++) await ask([created(BASE)]);
  expect(left(await ask([created(BASE, 0, '8')]))).toEqual([
    ['a', 9],
    ['b', 99],
  ]);
});

test('a rule that outranks another has buckets of its own; afterwards those of the other are as they were left', async () => {
  const { clock, ask } = gateway();
  const rule = created(BASE);
  const above = created({ ...BASE, priority: 200 }, 0, '8');
  for (let i = 0; i < 4; i++) await ask([rule]);
  expect(left(await ask([rule, above]))).toEqual([
    ['a', 9],
    ['b', 99],
  ]);
  clock.advance(HOUR_MS);
  expect(left(await ask([rule]))).toEqual([
    ['a', 6],
    ['b', 96],
  ]);
});

test('a penalty that is removed blocks nobody; where it comes back before its block is over, the block goes on', async () => {
  const { clock, ask } = gateway();
  const spec: RuleSpec = { ...BASE, limits: [bucket('a', 1)], penalty: { refusals: 2, windowMs: 60_000, blockMs: 600_000 } };
  const rule = created(spec);
  for (let i = 0; i < 3; i++) await ask([rule]);
  expect(await ask([rule])).toMatchObject({ reason: 'blocked' });
  clock.advance(100_000);
  const without = replaced(rule, { ...spec, penalty: null }, clock.nowMs);
  expect(await ask([without])).toMatchObject({ reason: 'over_limit' });
  // Until the bucket has refilled, it would wait longer than for the end of the block.
  expect(await ask([replaced(without, spec, clock.nowMs)])).toMatchObject({ reason: 'blocked', retryAfterMs: HOUR_MS - 100_000 });
  clock.advance(500_000);
  expect(await ask([replaced(without, spec, clock.nowMs)])).toMatchObject({ reason: 'over_limit' });
});

describe('a new time zone of the merchant', () => {
  const monthly = created({ ...BASE, limits: [{ name: 'm', algorithm: 'fixed_window', limit: 10, calendar: 'month', start: 'clock' }] });
  const usedFour = async (rules: readonly Rule[]) => {
    const { clock, ask } = gateway();
    clock.nowMs = Date.parse('2026-11-15T12:00:00Z');
    for (let i = 0; i < 4; i++) await ask(rules, {}, 'Europe/Berlin');
    return { clock, ask };
  };

  test.each(['Asia/Tokyo', 'America/New_York'])('%s is an edit of its own limits: what was used counts on', async (zone) => {
    const { clock, ask } = await usedFour([monthly]);
    const moved = { ...monthly, limits: moveLimits(monthly.limits, 'Europe/Berlin', zone, clock.nowMs) };
    expect(left(await ask([moved], {}, zone))).toEqual([['m', 5]]);
    clock.nowMs = Date.parse('2026-12-02T12:00:00Z');
    expect(left(await ask([moved], {}, zone))).toEqual([['m', 9]]);
  });

  test('is one for buckets that were written before an earlier edit, too', async () => {
    const { clock, ask } = await usedFour([monthly]);
    const raised = editLimits(
      monthly.limits,
      [{ name: 'm', algorithm: 'fixed_window', limit: 12, calendar: 'month', start: 'clock' }],
      clock.nowMs,
      'Europe/Berlin',
    );
    const moved = { ...monthly, limits: moveLimits(raised, 'Europe/Berlin', 'America/New_York', clock.nowMs) };
    expect(left(await ask([moved], {}, 'America/New_York'))).toEqual([['m', 5]]);
  });

  test.each([
    // In Berlin it is 13:00, and its midnight at 23:00 UTC; in Tokyo midnight is at 15:00 UTC, in New York at 05:00 UTC.
    ['Asia/Tokyo', '2026-11-15T15:00:00Z'],
    ['America/New_York', '2026-11-16T05:00:00Z'],
  ])('%s moves the steps of the calendar, and hands out no tokens', async (zone, step) => {
    const daily = created({
      ...BASE,
      limits: [{ name: 'd', algorithm: 'token_bucket', capacity: 10, refillTokens: 3, refill: 'interval', calendar: 'day' }],
    });
    const { clock, ask } = await usedFour([daily]);
    const moved = { ...daily, limits: moveLimits(daily.limits, 'Europe/Berlin', zone, clock.nowMs) };
    expect(left(await ask([moved], {}, zone))).toEqual([['d', 5]]);
    clock.nowMs = Date.parse(step) - 1;
    expect(left(await ask([moved], {}, zone))).toEqual([['d', 4]]);
    clock.nowMs = Date.parse(step);
    expect(left(await ask([moved], {}, zone))).toEqual([['d', 6]]);
  });

  test('concerns only limits that follow the calendar and name no zone of their own', () => {
    const others = created({
      ...BASE,
      limits: [
        bucket('b', 10),
        { name: 'm', algorithm: 'fixed_window', limit: 10, calendar: 'month', timeZone: 'Asia/Tokyo', start: 'clock' },
        {
          name: 'd',
          algorithm: 'token_bucket',
          capacity: 10,
          refillTokens: 3,
          refill: 'interval',
          calendar: 'day',
          timeZone: 'Asia/Tokyo',
        },
      ],
    });
    expect(moveLimits(others.limits, 'Europe/Berlin', 'America/New_York', 0)).toBe(others.limits);
  });

  test.each([
    ['Asia/Tokyo', 'what was used counts, where the month began no later there', 5],
    ['America/New_York', 'and counts from nothing, where the month began later there: at most one more quota', 9],
  ])('%s, under a default rule: %s', async (zone, _what, remaining) => {
    const { ask } = await usedFour([monthly]);
    expect(left(await ask([monthly], {}, zone))).toEqual([['m', remaining]]);
  });
});

describe('the order of limits in a verdict', () => {
  const names = async (rules: readonly Rule[]): Promise<string[]> => (await gateway().ask(rules)).limits.map(({ limit }) => limit.name);
  const inLayer = (layer: Rule['layer'], id: string, ...limits: string[]): Rule =>
    created({ ...BASE, layer, priority: 1000 - Number(id), limits: limits.map((name) => bucket(name, 10)) }, 0, id);

  test('by layer: platform, network, merchant, user; within a rule as they were written', async () => {
    const rules = [
      inLayer('user', '1', 'u2', 'u1'),
      inLayer('merchant', '2', 'm'),
      inLayer('network', '3', 'n2', 'n1'),
      inLayer('platform', '4', 'p'),
    ];
    const expected = ['p', 'n2', 'n1', 'm', 'u2', 'u1'];
    expect(await names(rules)).toEqual(expected);
    expect(await names(rules.toReversed())).toEqual(expected);
  });

  test('after an edit, as they are written then', async () => {
    const rule = created({ ...BASE, limits: [bucket('a', 10), bucket('b', 10), bucket('c', 10)] });
    expect(await names([replaced(rule, { ...BASE, limits: [bucket('new', 10), bucket('c', 10), bucket('a', 10)] }, 0)])).toEqual([
      'new',
      'c',
      'a',
    ]);
  });
});
