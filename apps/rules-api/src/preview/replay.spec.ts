import { completed, RULE_FIELDS, type RuleSpec } from '#limiter';
import type { RuleEntity } from '#rules-db';
import { alternatives, DRAFT_ID, shadowingOfDraft } from './draft.js';
import { replay, type ReplayResult } from './replay.js';
import type { SampleRow } from './sample.js';

const START_MS = Date.parse('2026-11-22T10:00:00Z');
const LIMIT = { name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 1, refillIntervalMs: 1_000 };

const spec = (changes: object = {}): RuleSpec =>
  completed({ name: 'draft', limits: [LIMIT], ...changes }, RULE_FIELDS) as unknown as RuleSpec;
const stored = (id: string, changes: object = {}): RuleEntity =>
  ({ ...spec({ name: `rule ${id}`, ...changes }), id }) as unknown as RuleEntity;
const among = (own: RuleEntity[], defaults: RuleEntity[] = []) => ({
  merchantId: 'acme',
  timeZone: 'Etc/UTC',
  own,
  plan: undefined,
  defaults,
});

function requests(count: number, gapMs: number, changes: Partial<SampleRow> = {}): SampleRow[] {
  return Array.from({ length: count }, (_, i) => ({
    atMs: START_MS + i * gapMs,
    method: 'GET',
    path: '/',
    ip: undefined,
    cost: undefined,
    ...changes,
  }));
}

async function replayed(
  rows: SampleRow[],
  both: ReturnType<typeof alternatives>,
  options: Parameters<typeof replay>[2] = {},
): Promise<{ result: ReplayResult; steps: number[] }> {
  const steps: number[] = [];
  const running = replay(rows, both, options);
  for (;;) {
    const step = await running.next();
    if (step.done) return { result: step.value, steps };
    steps.push(step.value);
  }
}

it('a stricter draft refuses what the rule that stands lets pass, and says whom', async () => {
  const both = alternatives(among([stored('7')]), spec({ limits: [{ ...LIMIT, capacity: 4 }] }), stored('7'), START_MS);
  const { result } = await replayed([...requests(8, 0), ...requests(4, 0, { atMs: START_MS + 2_000, method: 'POST', path: '/x' })], both);
  expect(result).toEqual({
    requests: 12,
    refusedNow: 0,
    // Four of eight at once, and two of four after two seconds.
    refusedThen: 6,
    shadowNow: 0,
    shadowThen: 0,
    byRule: [{ ruleId: '7', refusedNow: 0, refusedThen: 6 }],
    mostAffected: [
      { method: 'GET', path: '/', ip: null, requests: 8, refusedNow: 0, refusedThen: 4 },
      { method: 'POST', path: '/x', ip: null, requests: 4, refusedNow: 0, refusedThen: 2 },
    ],
    stepMs: 1_000,
    series: [
      { at: '2026-11-22T10:00:00.000Z', requests: 8, refusedNow: 0, refusedThen: 4 },
      { at: '2026-11-22T10:00:01.000Z', requests: 0, refusedNow: 0, refusedThen: 0 },
      { at: '2026-11-22T10:00:02.000Z', requests: 4, refusedNow: 0, refusedThen: 2 },
    ],
    truncated: false,
  });
});

it('a new rule stands beside the others: in its own layer it adds up, in theirs it takes their place', async () => {
  const added = alternatives(
    among([], [stored('1')]),
    spec({ layer: 'network', limits: [{ ...LIMIT, capacity: 3 }] }),
    undefined,
    START_MS,
  );
  const { result } = await replayed(requests(12, 0), added);
  expect(result).toMatchObject({
    refusedNow: 2,
    refusedThen: 9,
    byRule: [
      { ruleId: DRAFT_ID, refusedThen: 9 },
      { ruleId: '1', refusedNow: 2 },
    ],
  });
  const instead = alternatives(among([], [stored('1')]), spec({ limits: [{ ...LIMIT, capacity: 11 }] }), undefined, START_MS);
  expect((await replayed(requests(12, 0), instead)).result).toMatchObject({ refusedNow: 2, refusedThen: 1 });
});

it.each([
  ['in the mode shadow refuses nothing, and counts', { mode: 'shadow' }, { refusedThen: 0, shadowThen: 2 }],
  ['that is switched off refuses nothing', { enabled: false }, { refusedThen: 0, shadowThen: 0 }],
  ['for other requests refuses none of these', { match: { methods: ['PUT'] } }, { refusedThen: 0 }],
  ['starts with the level that it says', { limits: [{ ...LIMIT, initialTokens: 1 }] }, { refusedThen: 11 }],
  [
    'with a penalty goes on refusing',
    { limits: [{ ...LIMIT, capacity: 1 }], penalty: { refusals: 1, windowMs: 1_000, blockMs: 1_000 } },
    { refusedThen: 11 },
  ],
])('a draft %s', async (_what, changes, expected) => {
  const { result } = await replayed(requests(12, 0), alternatives(among([]), spec(changes), undefined, START_MS));
  expect(result).toMatchObject({ refusedNow: 0, ...expected });
});

it('what a request costs may stand in the sample, and is taken from the same bucket', async () => {
  const rows = [...requests(1, 0, { cost: 8 }), ...requests(3, 0), ...requests(1, 0, { cost: 0 })];
  expect((await replayed(rows, alternatives(among([stored('1')]), spec({ priority: 1 }), undefined, START_MS))).result).toMatchObject({
    refusedNow: 1,
  });
});

it('addresses have buckets of their own where the key says so', async () => {
  const rows = [...requests(6, 0, { ip: '192.0.2.1' }), ...requests(6, 0, { ip: '192.0.2.2' })];
  const both = alternatives(among([stored('1')]), spec({ key: ['merchant', 'ip'] }), stored('1'), START_MS);
  expect((await replayed(rows, both)).result).toMatchObject({ refusedNow: 2, refusedThen: 0 });
});

it('a replay yields to other work, and ends in time with what it has found', async () => {
  const both = alternatives(among([stored('1')]), spec(), stored('1'), START_MS);
  let now = 0;
  // Each look at the clock is a millisecond: a slice is four of them, of sixteen requests each.
  const { result, steps } = await replayed(requests(1_000, 0), both, { nowMs: () => now++, endAtMs: 20 });
  expect(steps.slice(0, 3)).toEqual([64, 128, 192]);
  expect(result.truncated).toBe(true);
  expect(result.requests).toBeGreaterThan(192);
  expect(result.requests).toBeLessThan(1_000);
});

it('a draft says what it shadows, what shadows it, and what it uncovers', () => {
  const wide = stored('1', { priority: 500 });
  const others = [stored('2'), stored('3', { match: { methods: ['GET'], paths: [] }, priority: 200 })];
  const draft = spec({ priority: 300, match: { methods: ['GET'], paths: [] } });
  const both = alternatives(among([wide, ...others]), draft, wide, START_MS);
  const { shadows, shadowedBy, uncovers, warnings } = shadowingOfDraft(both, draft, START_MS);
  const ids = (rules: readonly { ruleId: string }[]) => rules.map(({ ruleId }) => ruleId);
  expect([ids(shadows), ids(shadowedBy), ids(uncovers)]).toEqual([['3'], [], ['2']]);
  expect(warnings.map(({ code }) => code)).toEqual(['rule.shadows']);
  const fresh = shadowingOfDraft(alternatives(among([wide]), draft, undefined, START_MS), draft, START_MS);
  expect(fresh.shadowedBy).toEqual([{ ruleId: '1', name: 'rule 1', source: 'merchant', priority: 500 }]);
  const planned = { ...among([]), plan: [wide] };
  const besidePlan = shadowingOfDraft(alternatives(planned, draft, undefined, START_MS), draft, START_MS);
  expect(besidePlan.shadowedBy).toEqual([{ ruleId: '1', name: 'rule 1', source: 'plan', priority: 500 }]);
});

it('a draft with a validity or a schedule refuses at the times of the sample at which it applies', async () => {
  const empty = { ...LIMIT, capacity: 1 };
  for (const times of [
    { validFrom: '2026-11-22T10:00:10Z' },
    { schedule: { timeZone: 'Etc/UTC', weekly: [{ days: ['sun'], from: '10:01', to: '10:02' }] } },
  ]) {
    const both = alternatives(among([]), spec({ limits: [empty], ...times }), undefined, START_MS);
    // Two at once before, and two at once at a time at which the draft applies.
    const { result } = await replayed([...requests(2, 0), ...requests(2, 0, { atMs: START_MS + 60_000 })], both);
    expect([times, result.refusedThen, result.series.map(({ refusedThen }) => refusedThen).at(-1)]).toEqual([times, 1, 1]);
  }
});
