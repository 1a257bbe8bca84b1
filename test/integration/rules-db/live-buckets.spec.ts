import type { DataSource } from 'typeorm';
import { type LimitSpec, MemoryBucketStore, merchantRules, RateLimiter, type RuleSpec, type Verdict } from '#limiter';
import { burst } from '#limiter/testing';
import { MerchantRepository, RuleReader, RuleRepository } from '#rules-db';
import { ruleSpec } from '../../support/factories/rules.js';
import { BY } from '../../support/factories/merchants.js';
import { emptyTables, migratedDatabase } from './database.js';

/** Rows of docs/algorithms.md, "When anything else of a rule changes", by way of the database. */

const HOUR_MS = 3_600_000;
const bucket = (name: string, capacity: number): LimitSpec => burst({ name, capacity, refillTokens: 1, refillIntervalMs: HOUR_MS });

describe('live buckets after edits that are stored in PostgreSQL', () => {
  const base = ruleSpec({ match: { methods: [], paths: [] }, limits: [bucket('a', 10), bucket('b', 100)] });
  let dataSource: DataSource;
  let close: () => Promise<void>;
  let rules: RuleRepository;
  let limiter: RateLimiter;
  let nowMs: number;

  beforeAll(async () => {
    ({ dataSource, close } = await migratedDatabase());
    rules = new RuleRepository(dataSource, () => nowMs);
  });
  beforeEach(async () => {
    nowMs = 1_700_000_000_000;
    await emptyTables(dataSource);
    await new MerchantRepository(dataSource).create({ id: 'acme', name: 'Acme', timeZone: 'UTC' }, BY);
    limiter = new RateLimiter(new MemoryBucketStore(() => nowMs), new MemoryBucketStore(() => nowMs));
  });
  afterAll(() => close());

  /** A request, by the rules as a gateway reads them: what it has left, by limit. */
  async function left(): Promise<[string, number][]> {
    const snapshot = await new RuleReader(dataSource).snapshot('acme');
    const verdict = await new Promise<Verdict>((resolve, reject) =>
      limiter.check(
        merchantRules('acme', snapshot!.rules, [], { timeZone: snapshot!.timeZone }),
        { merchantId: 'acme', ip: '192.0.2.1', method: 'POST', target: '/' },
        (outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome)),
      ),
    );
    return verdict.limits.map(({ limit, decision }) => [limit.name, decision.remaining]);
  }

  const replace = (id: string, changes: Partial<RuleSpec>) => rules.replace('acme', id, 'any', { ...base, ...changes }, BY);

  it.each<[string, Partial<RuleSpec>, [string, number][]]>([
    [
      'new names, in another order',
      { name: 'renamed', limits: [bucket('y', 100), bucket('x', 10)] },
      [
        ['y', 98],
        ['x', 8],
      ],
    ],
    [
      'one more limit, written first',
      { limits: [bucket('c', 50), bucket('a', 10), bucket('b', 100)] },
      [
        ['c', 49],
        ['a', 8],
        ['b', 98],
      ],
    ],
    [
      'another layer, priority and cost',
      { layer: 'user', priority: 7, cost: 3 },
      [
        ['a', 6],
        ['b', 96],
      ],
    ],
    [
      'other numbers',
      { limits: [bucket('a', 1000), bucket('b', 5)] },
      [
        ['a', 8],
        ['b', 4],
      ],
    ],
    [
      'a limit of 0',
      { limits: [bucket('a', 0), bucket('b', 100)] },
      [
        ['a', 0],
        ['b', 99],
      ],
    ],
    [
      'another key',
      { key: ['merchant', 'ip'] },
      [
        ['a', 9],
        ['b', 99],
      ],
    ],
  ])('keep their content after an edit that gives %s', async (_title, changes, expected) => {
    const { id } = await rules.create('acme', base, BY);
    await left();
    await replace(id, changes);
    expect(await left()).toEqual(expected);
  });

  it('refill while their rule is disabled', async () => {
    const { id } = await rules.create('acme', base, BY);
    for (let i = 0; i < 4; i++) await left();
    await replace(id, { enabled: false });
    expect(await left()).toEqual([]);
    nowMs += 2 * HOUR_MS;
    await replace(id, {});
    expect(await left()).toEqual([
      ['a', 7],
      ['b', 97],
    ]);
  });

  it('are not used by a rule or a limit that is removed and created again', async () => {
    const { id } = await rules.create('acme', base, BY);
    for (let i = 0; i < 4; i++) await left();
    await replace(id, { limits: [bucket('b', 100)] });
    await replace(id, {});
    expect(await left()).toEqual([
      ['a', 9],
      ['b', 95],
    ]);
    await rules.delete('acme', id, 'any', BY);
    await rules.create('acme', base, BY);
    expect(await left()).toEqual([
      ['a', 9],
      ['b', 99],
    ]);
  });

  it('of a calendar quota follow the merchant to its new time zone, without a second quota', async () => {
    nowMs = Date.parse('2026-11-16T10:00:00Z');
    const merchants = new MerchantRepository(dataSource, () => nowMs);
    await merchants.update('acme', 'any', { timeZone: 'Europe/Berlin' }, BY);
    const daily: LimitSpec = { name: 'daily', algorithm: 'fixed_window', limit: 5, calendar: 'day', start: 'clock' };
    const { id, version } = await rules.create('acme', { ...base, limits: [daily, bucket('b', 100)] }, BY);
    for (let i = 0; i < 4; i++) await left();
    await merchants.update('acme', 'any', { timeZone: 'America/New_York' }, BY);
    expect(await left()).toEqual([
      ['daily', 0],
      ['b', 95],
    ]);
    // Berlin's midnight is none any more; New York's is at five.
    nowMs = Date.parse('2026-11-17T00:00:00Z');
    expect((await left())[0]).toEqual(['daily', 0]);
    nowMs = Date.parse('2026-11-17T05:00:00Z');
    expect((await left())[0]).toEqual(['daily', 4]);
    // What the administrator wrote is as it was, and so is its ETag.
    const rule = await rules.find('acme', id);
    expect(rule!.version).toBe(version);
    expect(rule!.limits[0]).toMatchObject({ ...daily, generation: 1, previous: [{ timeZone: 'Europe/Berlin', generation: 0 }] });
    expect(rule!.limits[0]).not.toHaveProperty('timeZone');
  });
});
