import { type DataSource } from 'typeorm';
import { MerchantRepository, RuleReader, RuleRepository } from '#rules-db';
import { BY, migratedDatabase, ruleSpec } from './database.js';

describe('RuleReader', () => {
  let dataSource: DataSource;
  let close: () => Promise<void>;
  let reader: RuleReader;
  let rules: RuleRepository;

  beforeAll(async () => {
    ({ dataSource, close } = await migratedDatabase());
    reader = new RuleReader(dataSource);
    rules = new RuleRepository(dataSource, () => 1_700_000_000_000);
    const merchants = new MerchantRepository(dataSource);
    for (const id of ['b', 'a', 'C', '🙂', "it's {me}:"]) await merchants.create({ id, name: id, timeZone: 'UTC' }, BY);
    await rules.create('a', ruleSpec({ name: 'first' }), BY);
    await rules.create('a', ruleSpec({ name: 'off', enabled: false }), BY);
    await rules.create('a', ruleSpec({ name: 'second', mode: 'shadow' }), BY);
    await rules.create("it's {me}:", ruleSpec({ name: 'own' }), BY);
  });
  afterAll(() => close());

  it('reads a merchant with its enabled rules as the limiter wants them', async () => {
    const snapshot = await reader.snapshot('a');
    expect(snapshot).toMatchObject({ merchantId: 'a', version: 4, exists: true });
    expect(snapshot?.rules.map(({ name }) => name).sort()).toEqual(['first', 'second']);
    expect(snapshot?.rules.find(({ name }) => name === 'first')).toEqual({
      ...ruleSpec({ name: 'first' }),
      id: '1',
      limits: [{ ...ruleSpec().limits[0], id: 0, generation: 0, since: { atMs: 1_700_000_000_000, tokens: 10 }, previous: [] }],
    });
  });

  it('reads a merchant without rules, and none that never existed', async () => {
    expect(await reader.snapshot('b')).toEqual({ merchantId: 'b', version: 1, exists: true, timeZone: 'UTC', rules: [] });
    expect(await reader.snapshot('nobody')).toBeNull();
    expect(await reader.snapshot("' OR 1=1 --")).toBeNull();
  });

  it('walks all merchants in chunks, each once', async () => {
    const seen: [string, number][] = [];
    let after: string | null = null;
    for (;;) {
      const chunk = await reader.snapshotsAfter(after, 2);
      seen.push(...chunk.map(({ merchantId, rules: own }) => [merchantId, own.length] as [string, number]));
      if (chunk.length < 2) break;
      after = chunk.at(-1)?.merchantId ?? null;
    }
    expect(seen).toEqual([['C', 0], ['a', 2], ['b', 0], ["it's {me}:", 1], ['🙂', 0]]);
    expect(await reader.merchantCount()).toBe(5);
    expect(await reader.snapshotsAfter('🙂', 2)).toEqual([]);
  });

  it('reads the default rules with their version', async () => {
    expect(await reader.defaultRules()).toEqual({ version: 0, rules: [] });
    await rules.create(null, ruleSpec({ name: 'for all' }), BY);
    await rules.create(null, ruleSpec({ name: 'off', enabled: false }), BY);
    expect(await reader.defaultRules()).toMatchObject({ version: 2, rules: [{ name: 'for all' }] });
  });

  it('never shows rules of one version under another while they are written', async () => {
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
