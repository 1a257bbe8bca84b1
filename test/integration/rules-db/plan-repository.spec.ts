import type { DataSource } from 'typeorm';
import { AuditRepository, drainOutbox, MerchantRepository, type OutboxRow, PlanRepository, RuleReader, RuleRepository } from '#rules-db';
import { BY, merchant } from '../../support/factories/merchants.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { emptyTables, migratedDatabase } from './database.js';

const PRO = { note: 'for those who pay', labels: { team: 'sales' } };
const EMPTY = { note: '', labels: {} };

describe('PlanRepository', () => {
  let dataSource: DataSource;
  let close: () => Promise<void>;
  let plans: PlanRepository;
  let merchants: MerchantRepository;
  let rules: RuleRepository;
  let reader: RuleReader;

  beforeAll(async () => {
    ({ dataSource, close } = await migratedDatabase());
    plans = new PlanRepository(dataSource);
    merchants = new MerchantRepository(dataSource);
    rules = new RuleRepository(dataSource);
    reader = new RuleReader(dataSource);
  });
  beforeEach(() => emptyTables(dataSource));
  afterAll(() => close());

  async function outbox(): Promise<[string | null, string | undefined, number][]> {
    const rows: OutboxRow[] = [];
    await drainOutbox(dataSource, 100, (found) => Promise.resolve(void rows.push(...found)));
    return rows.map(({ merchantId, plan, version }) => [merchantId, plan, version]);
  }
  const actions = async (filter: { plan: string; ruleId?: null }) =>
    (await new AuditRepository(dataSource).list(filter, { limit: 100 })).map(({ action }) => action).reverse();

  it('creates, replaces and deletes a plan, each with an audit row, and tells gateways what concerns them', async () => {
    expect(await plans.create('pro', PRO, BY)).toMatchObject({ name: 'pro', ...PRO, version: 1, rulesVersion: 1 });
    await expect(plans.create('pro', PRO, BY)).rejects.toThrow('there already is a plan "pro"');
    expect(await plans.replace('pro', [1], EMPTY, BY)).toMatchObject({ ...EMPTY, version: 2 });
    await expect(plans.replace('pro', [1], EMPTY, BY)).rejects.toThrow('the version is 2 by now');
    await rules.create({ plan: 'pro' }, ruleSpec(), BY);
    expect(await outbox()).toEqual([
      [null, 'pro', 1],
      [null, 'pro', 2],
    ]);
    await expect(plans.delete('pro', [1], BY)).rejects.toThrow('the version is 2 by now');
    await plans.delete('pro', [2], BY);
    await expect(plans.delete('pro', 'any', BY)).rejects.toThrow('there is no plan "pro"');
    expect(await dataSource.query('SELECT 1 FROM rule')).toEqual([]);
    expect(await outbox()).toEqual([[null, 'pro', 3]]);
    expect(await actions({ plan: 'pro', ruleId: null })).toEqual(['plan.created', 'plan.replaced', 'plan.deleted']);
    expect(await actions({ plan: 'pro' })).toEqual(['plan.created', 'plan.replaced', 'rule.created', 'plan.deleted']);
  });

  it('continues the versions of a deleted plan of the same name', async () => {
    await plans.create('pro', PRO, BY);
    await plans.delete('pro', 'any', BY);
    expect(await reader.plan('pro')).toEqual({ plan: 'pro', version: 2, exists: false, rules: [] });
    expect(await plans.create('pro', PRO, BY)).toMatchObject({ version: 3, rulesVersion: 3 });
    expect(await reader.plan('pro')).toEqual({ plan: 'pro', version: 3, exists: true, rules: [] });
  });

  it('deletes no plan that merchants have', async () => {
    await plans.create('pro', PRO, BY);
    await merchants.create({ ...merchant('acme'), plan: 'pro' }, BY);
    await expect(plans.delete('pro', 'any', BY)).rejects.toThrow('plan "pro" is that of 1 merchant; give them another one first');
    await dataSource.query(
      `INSERT INTO merchant (id, name, time_zone, version, rules_version, plan) SELECT 'm' || n, 'x', 'UTC', 1, 1, 'pro' FROM generate_series(1, 1500) n`,
    );
    await expect(plans.delete('pro', 'any', BY)).rejects.toThrow('is that of more than 1000 merchants');
    await dataSource.query('UPDATE merchant SET plan = NULL');
    await plans.delete('pro', 'any', BY);
    expect(await plans.find('pro')).toBeNull();
  });

  it('lets no merchant join a plan that is being deleted, nor a plan be deleted that one is joining', async () => {
    await plans.create('pro', PRO, BY);
    await merchants.create(merchant('acme'), BY);
    const outcomes = await Promise.allSettled([plans.delete('pro', 'any', BY), merchants.update('acme', 'any', { plan: 'pro' }, BY)]);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const { plan } = (await merchants.find('acme'))!;
    expect(plan === null).toBe((await plans.find('pro')) === null);
  });

  it('is what a merchant names, in its snapshot and in the list', async () => {
    await plans.create('pro', PRO, BY);
    for (const id of ['a', 'b', 'c']) await merchants.create(merchant(id), BY);
    for (const id of ['a', 'c']) await merchants.update(id, 'any', { plan: 'pro' }, BY);
    expect((await merchants.list({ plan: 'pro', limit: 10 })).map(({ id }) => id)).toEqual(['a', 'c']);
    expect((await merchants.list({ plan: 'pro', after: 'a', limit: 10 })).map(({ id }) => id)).toEqual(['c']);
    expect(await reader.snapshot('a')).toMatchObject({ plan: 'pro', version: 2 });
    expect(await reader.merchantsAfter(null, 2, (each) => each.parsed())).toMatchObject([
      { merchantId: 'a', plan: 'pro' },
      { merchantId: 'b' },
    ]);
    expect(await reader.snapshot('b')).not.toHaveProperty('plan');
    await expect(merchants.update('b', 'any', { plan: 'gold' }, BY)).rejects.toThrow('there is no plan "gold"');
    await expect(merchants.create({ ...merchant('d'), plan: 'gold' }, BY)).rejects.toThrow('there is no plan "gold"');
  });

  it('has a snapshot of its enabled rules, which no default rules and no merchant has', async () => {
    await plans.create('pro', PRO, BY);
    await merchants.create({ ...merchant('acme'), plan: 'pro' }, BY);
    await rules.create({ plan: 'pro' }, ruleSpec({ note: 'why' }), BY);
    await rules.create({ plan: 'pro' }, ruleSpec({ name: 'off', enabled: false }), BY);
    const plan = await reader.plan('pro');
    expect(plan).toMatchObject({ plan: 'pro', version: 3, exists: true });
    expect(plan?.rules).toMatchObject([{ id: '1', name: 'card payments', enabled: true }]);
    expect(plan?.rules[0]).not.toHaveProperty('note');
    expect((await reader.defaultRules()).rules).toEqual([]);
    expect((await reader.snapshot('acme'))?.rules).toEqual([]);
    expect([await reader.plan('free'), await reader.planNames()]).toEqual([null, ['pro']]);
  });

  it('with a rule that makes no sense is not read in part', async () => {
    await plans.create('pro', PRO, BY);
    for (const name of ['first', 'second']) await rules.create({ plan: 'pro' }, ruleSpec({ name }), BY);
    await dataSource.query(`UPDATE rule SET cost = 0 WHERE name = 'second'`);
    await expect(reader.plan('pro')).rejects.toThrow(/cost/);
  });
});
