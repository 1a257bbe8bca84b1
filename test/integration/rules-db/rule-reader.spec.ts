import { MOST_SWITCHES } from '#limiter';
import type { DataSource } from 'typeorm';
import { isReadable, MerchantRepository, type MerchantRows, RuleReader, RuleRepository } from '#rules-db';
import { ruleSpec } from '../../support/factories/rules.js';
import { BY } from '../../support/factories/merchants.js';
import { migratedDatabase } from './database.js';

describe('RuleReader', () => {
  let dataSource: DataSource;
  let close: () => Promise<void>;
  let reader: RuleReader;
  let rules: RuleRepository;
  const walked = (after: string | null, count: number): Promise<ReturnType<MerchantRows['parsed']>[]> =>
    reader.merchantsAfter(after, count, (merchant) => merchant.parsed());

  beforeAll(async () => {
    ({ dataSource, close } = await migratedDatabase());
    reader = new RuleReader(dataSource);
    rules = new RuleRepository(dataSource, () => 1_700_000_000_000);
    const merchants = new MerchantRepository(dataSource);
    for (const id of ['b', 'a', 'C', '🙂', "it's {me}:"]) await merchants.create({ id, name: id, timeZone: 'UTC' }, BY);
    await rules.create('a', ruleSpec({ name: 'first', note: 'why', labels: { team: 'risk' } }), BY);
    await rules.create('a', ruleSpec({ name: 'off', enabled: false }), BY);
    await rules.create('a', ruleSpec({ name: 'second', mode: 'shadow' }), BY);
    await rules.create("it's {me}:", ruleSpec({ name: 'own' }), BY);
  });
  afterAll(() => close());

  it('reads a merchant with its enabled rules in the shape of the limiter, without their notes and labels', async () => {
    const snapshot = await reader.snapshot('a');
    expect(snapshot).toMatchObject({ merchantId: 'a', version: 4, exists: true });
    expect(snapshot?.rules.map(({ name }) => name).sort()).toEqual(['first', 'second']);
    expect(snapshot?.rules.find(({ name }) => name === 'first')).toEqual({
      ...ruleSpec({ name: 'first' }),
      id: '1',
      limits: [{ ...ruleSpec().limits[0], id: 0, generation: 0, since: { atMs: 1_700_000_000_000, tokens: 10 }, previous: [] }],
    });
  });

  it('reads a merchant without rules, and returns null for an id that never existed', async () => {
    expect(await reader.snapshot('b')).toEqual({ merchantId: 'b', version: 1, exists: true, timeZone: 'UTC', rules: [] });
    expect(await reader.snapshot('nobody')).toBeNull();
    expect(await reader.snapshot("' OR 1=1 --")).toBeNull();
  });

  it('rehearses on as many connections as are asked for, for nobody', async () => {
    const asked: unknown[] = [];
    const rehearsing = new RuleReader({
      query: (sql: string, parameters: unknown[] = []) => (asked.push(...parameters), dataSource.query(sql, parameters)),
    } as DataSource);
    await rehearsing.rehearse(2);
    const { master: pool } = dataSource.driver as unknown as { master: { totalCount: number } };
    expect(pool.totalCount).toBeGreaterThanOrEqual(2);
    // Who could be asked for, and how many switches are read at most.
    expect(new Set(asked)).toEqual(new Set(['', MOST_SWITCHES]));
  });

  it('walks all merchants in chunks, each once', async () => {
    const seen: [string, number][] = [];
    let after: string | null = null;
    for (;;) {
      const chunk = await walked(after, 2);
      seen.push(...chunk.filter(isReadable).map(({ merchantId, rules: own }) => [merchantId, own.length] as [string, number]));
      if (chunk.length < 2) break;
      after = chunk.at(-1)?.merchantId ?? null;
    }
    expect(seen).toEqual([
      ['C', 0],
      ['a', 2],
      ['b', 0],
      ["it's {me}:", 1],
      ['🙂', 0],
    ]);
    expect(await reader.merchantCount()).toBe(5);
    expect(await walked('🙂', 2)).toEqual([]);
  });

  it.each<[what: string, change: string, reason: RegExp]>([
    ['limits that are no list', `limits = '{"not": "a list"}'`, /limits: must be a list/],
    ['a number beyond its bounds', `limits = jsonb_set(limits, '{0,capacity}', '-1')`, /capacity/],
    ['an unknown algorithm', `limits = jsonb_set(limits, '{0,algorithm}', '"quantum"')`, /algorithm/],
    ['an unknown layer', `layer = 'moon'`, /layer/],
    ['an unknown mode', `mode = 'half'`, /mode/],
    ['a cost of 0', `cost = 0`, /cost/],
    ['a match that is null', `match = 'null'`, /match/],
    ['a penalty that is a text', `penalty = '"x"'`, /penalty/],
    ['an unknown key part', `key = '["merchant", "planet"]'`, /key/],
  ])('names a merchant with %s among the others, with the reason', async (_what, change, reason) => {
    const [before] = (await dataSource.query(`SELECT * FROM rule WHERE merchant_id = 'a' AND name = 'first'`)) as Record<string, unknown>[];
    try {
      await dataSource.query(`UPDATE rule SET ${change} WHERE merchant_id = 'a' AND name = 'first'`);
      const chunk = await walked(null, 10);
      expect(chunk.map(({ merchantId }) => merchantId)).toEqual(['C', 'a', 'b', "it's {me}:", '🙂']);
      expect(chunk.filter((each) => !isReadable(each))).toEqual([
        { merchantId: 'a', version: 4, unreadable: expect.objectContaining({ message: expect.stringMatching(reason) as string }) as Error },
      ]);
      await expect(reader.snapshot('a')).rejects.toThrow(reason);
    } finally {
      const { limits, layer, mode, cost, match, penalty, key } = before!;
      await dataSource.query(
        `UPDATE rule SET limits = $1, layer = $2, mode = $3, cost = $4, match = $5, penalty = $6, key = $7 WHERE merchant_id = 'a' AND name = 'first'`,
        [
          JSON.stringify(limits),
          layer,
          mode,
          cost,
          JSON.stringify(match),
          penalty === null ? null : JSON.stringify(penalty),
          JSON.stringify(key),
        ],
      );
    }
  });

  it('leaves out unknown fields of a limit', async () => {
    await dataSource.query(`UPDATE rule SET limits = jsonb_set(limits, '{0,later}', '[1]') WHERE name = 'own'`);
    const snapshot = await reader.snapshot("it's {me}:");
    expect(snapshot?.rules).toHaveLength(1);
    expect(JSON.stringify(snapshot)).not.toContain('later');
  });

  it.each([
    ['an implausibly high version', `rules_version = 9007199254740993`],
    ['a negative version', `rules_version = -1`],
    ['an unknown time zone', `time_zone = 'Mars/Olympus'`],
  ])('names a merchant with %s as unreadable', async (_what, change) => {
    const [before] = (await dataSource.query(`SELECT rules_version, time_zone FROM merchant WHERE id = 'b'`)) as [
      { rules_version: string; time_zone: string },
    ];
    await dataSource.query(`UPDATE merchant SET ${change} WHERE id = 'b'`);
    expect((await walked(null, 10)).filter((each) => !isReadable(each)).map(({ merchantId }) => merchantId)).toEqual(['b']);
    await dataSource.query(`UPDATE merchant SET rules_version = $1, time_zone = $2 WHERE id = 'b'`, [
      before.rules_version,
      before.time_zone,
    ]);
  });

  it('reads the default rules with their version', async () => {
    expect(await reader.defaultRules()).toEqual({ version: 0, rules: [] });
    await rules.create(null, ruleSpec({ name: 'for all' }), BY);
    await rules.create(null, ruleSpec({ name: 'off', enabled: false }), BY);
    expect(await reader.defaultRules()).toMatchObject({ version: 2, rules: [{ name: 'for all' }] });
  });

  it('never returns rules of one version under another while they are written', async () => {
    const merchants = new MerchantRepository(dataSource);
    await merchants.create({ id: 'busy', name: 'busy', timeZone: 'UTC' }, BY);
    const { id } = await rules.create('busy', ruleSpec({ priority: 2 }), BY);
    const done = new AbortController();
    const writer = (async () => {
      for (let version = 3; version < 30; version++) await rules.replace('busy', id, 'any', ruleSpec({ priority: version }), BY);
    })().finally(() => done.abort());
    const torn: unknown[] = [];
    while (!done.signal.aborted) {
      const snapshot = await reader.snapshot('busy');
      if (snapshot?.rules[0]?.priority !== snapshot?.version) torn.push(snapshot);
    }
    await writer;
    expect(torn).toEqual([]);
  });
});
