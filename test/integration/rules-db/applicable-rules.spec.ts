import { jest } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { ApplicableRulesReader, MerchantRepository, OverrideRepository, PlanRepository, RuleRepository, SwitchRepository } from '#rules-db';
import { BY } from '../../support/factories/merchants.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { migratedDatabase } from './database.js';

describe('ApplicableRulesReader', () => {
  let dataSource: DataSource;
  let close: () => Promise<void>;
  let reader: ApplicableRulesReader;
  let rules: RuleRepository;

  beforeAll(async () => {
    ({ dataSource, close } = await migratedDatabase());
    reader = new ApplicableRulesReader(dataSource);
    rules = new RuleRepository(dataSource);
    await new PlanRepository(dataSource).create('pro', { note: '', labels: {} }, BY);
    const merchants = new MerchantRepository(dataSource);
    await merchants.create({ id: 'acme', name: 'Acme', timeZone: 'Europe/Berlin', plan: 'pro' }, BY);
    await merchants.create({ id: 'bare', name: 'Bare', timeZone: 'UTC' }, BY);
  });
  afterAll(() => close());

  it('finds no merchant that was never created', async () => {
    expect(await reader.read('nobody')).toBeNull();
    expect(await reader.read("' OR 1=1 --")).toBeNull();
  });

  it('answers for a merchant without anything', async () => {
    const nothing = { own: [], ofPlan: undefined, defaults: [], overrides: [], switches: [] };
    expect(await reader.read('bare')).toEqual({ timeZone: 'UTC', ...nothing });
    expect(await reader.read('acme')).toEqual({ timeZone: 'Europe/Berlin', ...nothing, ofPlan: [] });
  });

  it('reads in one statement what the repositories read one by one', async () => {
    await rules.create('acme', ruleSpec({ name: 'low', priority: 1, note: 'why', labels: { team: 'risk' } }), BY);
    await rules.create('acme', ruleSpec({ name: 'off', priority: 7, enabled: false, mode: { enforcePercent: 5 } }), BY);
    await rules.create('acme', ruleSpec({ name: 'high', priority: 9, cost: { field: 'body.a', max: 9 }, charge: { on: 'request' } }), BY);
    await rules.create('bare', ruleSpec({ name: 'of another one' }), BY);
    for (const name of ['shared', 'shared and off'])
      await rules.create({ plan: 'pro' }, ruleSpec({ name, enabled: name === 'shared' }), BY);
    for (const priority of [1, 2]) await rules.create(null, ruleSpec({ name: `default ${priority}`, priority }), BY);
    const [{ id: ruleId } = { id: '' }] = await rules.list('acme', { limit: 1 });
    const untilMs = Date.now() + 60_000;
    await new OverrideRepository(dataSource).create('acme', { ruleId, numbers: { multiply: 2 }, untilMs, reason: 'a sale' }, BY);
    const until = new Date('2100-01-01T00:00:00.123Z');
    await new SwitchRepository(dataSource).switchOn(
      { name: 'kill', expected: 'any', by: BY },
      { layer: 'network', merchantId: 'bare' },
      until,
    );

    const statements = jest.spyOn(dataSource, 'createQueryRunner');
    const read = await reader.read('acme');
    expect(statements).toHaveBeenCalledTimes(1);
    statements.mockRestore();

    expect(read?.own).toEqual(await rules.list('acme', { limit: 10 }));
    expect(read?.own.map(({ name }) => name)).toEqual(['high', 'off', 'low']);
    expect(read?.ofPlan).toEqual(await rules.list({ plan: 'pro' }, { limit: 10 }));
    expect(read?.ofPlan?.map(({ enabled }) => enabled)).toEqual([true, false]);
    expect(read?.defaults).toEqual(await rules.list(null, { limit: 10 }));
    expect(read?.overrides).toMatchObject([{ ruleId, periods: [{ number: 1, multiply: 2, untilMs }] }]);
    expect(read?.switches).toEqual([{ name: 'kill', layer: 'network', merchantId: 'bare', untilMs: until.getTime() }]);
    // What is said of the merchant is said also where it has no rules of its own.
    expect((await reader.read('bare'))?.switches).toHaveLength(1);
  });

  it('reads on, on the same connection, when a later version has added a column', async () => {
    // Often enough that PostgreSQL plans no more.
    for (let i = 0; i < 8; i++) expect(await reader.read('acme')).not.toBeNull();
    const before = await reader.read('acme');
    await dataSource.query('ALTER TABLE rule ADD COLUMN of_later integer');
    try {
      expect(await reader.read('acme')).toEqual(before);
    } finally {
      await dataSource.query('ALTER TABLE rule DROP COLUMN of_later');
    }
    expect(await reader.read('acme')).toEqual(before);
  });
});
