import * as fc from 'fast-check';
import { join } from 'node:path';
import { runs } from '#limiter/testing';
import { ROOT } from '#scripts/paths.mjs';
import { withRun } from '../../../../bench/shared/published.mjs';
import { figuresIn, figuresOf, type Figures } from './measured.js';
import { planOf, type Load, type Plan } from './plan.js';

const measured = (value: number) => ({ value, unit: '', what: '', run: '' });
/** Numbers that can be reckoned with by hand. With busy 0.5 a worker has 5,000 requests a second, a shard 100,000 takes. */
const FIGURES: Figures = {
  requestsOfCore: measured(10_000),
  takeMicros: measured(5),
  // 10 reports a second of a bucket at a worker, each as two takes.
  leaseMicros: measured(10),
  leaseReports: measured(10),
  bucketBytes: measured(100),
  snapshotBytes: measured(400),
  markBytes: measured(200),
  diskBytes: measured(1_000),
  preloadedPerSecond: measured(10_000),
  preloaderMegabytes: measured(300),
};
const LOAD: Load = {
  rps: 100_000,
  merchants: 1_000_000,
  hot: 0,
  leased: 0,
  leasedMerchants: 1,
  takes: 1,
  buckets: 1,
  own: 1,
  cores: 4,
  busy: 0.5,
  spare: 1,
};

describe('a plan', () => {
  it.each<[string, Partial<Load>, Partial<Plan>]>([
    ['20 workers on 5 machines and one to spare, one shard', {}, { gateways: 6, redisShards: 1, needsLeases: false }],
    ['one worker more than fits', { rps: 100_001 }, { gateways: 7, redisShards: 2 }],
    ['two takes a request', { takes: 2 }, { gateways: 6, redisShards: 2 }],
    ['nothing to spare on large machines', { cores: 32, spare: 0 }, { gateways: 1 }],
    // 30,000 takes of the busiest leave 70,000 of its shard for a part of the other 270,000.
    ['a busy merchant beside the others', { rps: 300_000, hot: 0.1 }, { redisShards: 4, needsLeases: false }],
    ['a merchant with half of a shard', { rps: 500_000, hot: 0.1 }, { redisShards: 9, needsLeases: false }],
    // 200 workers x 10 reports x 2 beside 500,000 takes.
    ['a merchant beyond that, and half a million of others', { rps: 1_000_000, hot: 0.5 }, { redisShards: 6, needsLeases: true }],
    // 80 workers x 10 reports x 2 = 1,600 takes for each merchant, in place of 200,000 of all.
    ['half of the load leased by one merchant', { rps: 400_000, leased: 0.5 }, { redisShards: 3, needsLeases: false }],
    ['half of it by 100 merchants: 160,000 in place of 200,000', { rps: 400_000, leased: 0.5, leasedMerchants: 100 }, { redisShards: 4 }],
    [
      'so many that each worker sees each of them thrice a second',
      { rps: 600_000, leased: 0.6, leasedMerchants: 1_000 },
      { redisShards: 6 },
    ],
    [
      'a busy merchant that is leased though it need not be',
      { rps: 300_000, hot: 0.1, leased: 0.1 },
      { redisShards: 3, needsLeases: false },
    ],
    ['a busy merchant that is not among the leased', { rps: 300_000, hot: 0.1, leased: 0.05 }, { redisShards: 4, needsLeases: false }],
    ['one merchant alone', { rps: 50_000, hot: 1 }, { redisShards: 1, needsLeases: false }],
    ['one merchant alone that is leased', { rps: 500_000, hot: 1 }, { redisShards: 1, needsLeases: true }],
    // 1,000,000 x (400 + 100) x 1.5
    ['a snapshot and a bucket each', {}, { redisShardBytes: 750_000_000, postgresBytes: 2_000_000_000 }],
    // 1,000,000 x (300 + 3 x 100) x 1.5
    ['half of them with default rules alone, three buckets each', { own: 0.5, buckets: 3 }, { redisShardBytes: 900_000_000 }],
    ['a walk of 100 s', {}, { preloaders: 2, preloadIntervalMs: 900_000 }],
    ['a walk of 1,000 s', { merchants: 10_000_000 }, { preloadIntervalMs: 2_000_000 }],
    ['next to nothing', { rps: 1, merchants: 1, spare: 0 }, { gateways: 1, redisShards: 1 }],
  ])('%s', (_what, changes, expected) => {
    expect(planOf({ ...LOAD, ...changes }, FIGURES)).toMatchObject(expected);
  });

  it('gives no shard more than it carries, and no worker more than a core', () => {
    const loads = fc.record({
      rps: fc.integer({ min: 1, max: 10_000_000 }),
      hot: fc.double({ min: 0, max: 1, noNaN: true }),
      takes: fc.integer({ min: 1, max: 4 }),
    });
    fc.assert(
      fc.property(loads, (changes) => {
        const load = { ...LOAD, ...changes, spare: 0 };
        const { redisShards, gateways, needsLeases } = planOf(load, FIGURES);
        const [all, hot] = [load.rps * load.takes, load.rps * load.takes * load.hot];
        const most = needsLeases ? (all - hot) / redisShards : hot + (all - hot) / redisShards;
        expect(most).toBeLessThanOrEqual(100_001);
        expect(gateways * load.cores * 5_000).toBeGreaterThanOrEqual(load.rps);
      }),
      runs(300),
    );
  });

  it('needs no more Redis because rules are leased, if a report costs as much as a take', () => {
    const loads = fc.record({
      rps: fc.integer({ min: 1, max: 10_000_000 }),
      hot: fc.double({ min: 0, max: 1, noNaN: true }),
      takes: fc.integer({ min: 1, max: 4 }),
      leased: fc.double({ min: 0, max: 1, noNaN: true }),
      leasedMerchants: fc.integer({ min: 1, max: 1_000_000 }),
    });
    const figures = { ...FIGURES, leaseMicros: FIGURES.takeMicros };
    fc.assert(
      fc.property(loads, (changes) => {
        const { leased: _none, ...exact } = changes;
        const shards = planOf({ ...LOAD, ...changes }, figures).redisShards;
        expect(shards).toBeLessThanOrEqual(planOf({ ...LOAD, ...exact }, figures).redisShards);
      }),
      runs(300),
    );
  });

  it('shows how each number came about', () => {
    const { lines } = planOf({ ...LOAD, rps: 300_000, hot: 0.2 }, FIGURES);
    expect(lines.map(({ what, because }) => `${what}: ${because}`)).toEqual(
      expect.arrayContaining([
        'gateway workers: 300,000 /s / (10,000 /s a core x 0.5) = 60',
        'gateways: 60 workers / 4 cores a machine = 15, and 1 to spare',
        'reports of leases, the busiest merchant: 1 x 1 buckets x 60 workers x 10 measured, in place of 60,000 takes; each costs Redis 10 us, as 2 takes',
        'Redis shards: 300,000 /s x 1 takes = 300,000 a second; 60,000 of them are leased, which leaves 241,200 with the reports; the busiest merchant alone asks for more than half of what a shard carries: lease its rules',
      ]),
    );
  });
});

describe('measured figures', () => {
  it('are all in what was published', () => {
    for (const { value, run } of Object.values(figuresIn(join(ROOT, 'bench', 'published.json')))) {
      expect(value).toBeGreaterThan(0);
      expect(run).toMatch(/^\d{4}-\d\d-\d\d at [0-9a-f]{7}/);
    }
  });

  it.each([null, [], {}, { runs: 7 }, { runs: [null, { figures: [{ name: 'Redis CPU a take', median: -1 }] }] }])(
    'that are missing are named with the bench that measures them: %j',
    (published) =>
      expect(() => figuresOf(published)).toThrow('"with a rule" was not measured: npm run bench -- --only gateway-limiting --record'),
  );

  it('that are measured again take the place of former ones, and others stay', () => {
    const figure = (name: string, median: number, of?: string) => ({
      name,
      ...(of && { of }),
      unit: 'B',
      median,
      min: median,
      max: median,
    });
    const run = (on: string, ...figures: ReturnType<typeof figure>[]) => ({ on, commit: 'c', cpu: 'x', redis: 'y', figures });
    const first = run('2026-01-01', figure('a', 1), figure('keys', 2, 'a'), figure('keys', 3, 'b'));
    const second = run('2026-01-02', figure('keys', 4, 'b'));
    expect(withRun([first], second)).toEqual([{ ...first, figures: first.figures.slice(0, 2) }, second]);
    expect(withRun([second], first)).toEqual([first]);
  });
});
