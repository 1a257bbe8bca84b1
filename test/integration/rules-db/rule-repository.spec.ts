import type { DataSource } from 'typeorm';
import type { TokenBucketSpec } from '#limiter';
import {
  AuditEntity,
  drainOutbox,
  MAX_RULES_PER_OWNER,
  MerchantRepository,
  ownerColumns,
  PlanRepository,
  type RuleOwner,
  RuleReader,
  RuleRepository,
} from '#rules-db';
import { ruleSpec } from '../../support/factories/rules.js';
import { BY } from '../../support/factories/merchants.js';
import { emptyTables, migratedDatabase } from './database.js';

const NOW = 1_700_000_000_000;

describe('RuleRepository', () => {
  let dataSource: DataSource;
  let close: () => Promise<void>;
  let rules: RuleRepository;
  let reader: RuleReader;
  let nowMs = NOW;

  beforeAll(async () => {
    ({ dataSource, close } = await migratedDatabase());
    rules = new RuleRepository(dataSource, () => nowMs);
    reader = new RuleReader(dataSource);
  });
  beforeEach(async () => {
    nowMs = NOW;
    await emptyTables(dataSource);
    await dataSource.query('UPDATE default_rules_version SET version = 0');
    await new MerchantRepository(dataSource).create({ id: 'acme', name: 'Acme', timeZone: 'UTC' }, BY);
    await new PlanRepository(dataSource).create('pro', { note: '', labels: {} }, BY);
    await drainOutbox(dataSource, 100, () => Promise.resolve());
  });
  afterAll(() => close());

  async function outbox() {
    const rows: [RuleOwner, number][] = [];
    await drainOutbox(dataSource, 1_000, (found) =>
      Promise.resolve(
        void rows.push(
          ...found.map(({ merchantId, plan, version }): [RuleOwner, number] => [plan === undefined ? merchantId : { plan }, version]),
        ),
      ),
    );
    return rows;
  }

  it('keeps costs that a field says, charges that wait for the answer, and what holds for bodies', async () => {
    const parts = {
      cost: { field: 'body.amount', scale: 100, max: 500 },
      charge: { on: 'response', when: { field: 'response.status', from: 400, to: 499 } },
      onUnreadableBody: 'refuse',
      onLimit: { reroute: 'slow' },
      reserve: [{ name: 'captures', methods: ['POST'], paths: ['/transactions/*/capture'], percent: 20 }],
    } as const;
    const { id } = await rules.create('acme', ruleSpec({ cost: 2 }), BY);
    expect(await rules.replace('acme', id, 'any', ruleSpec(parts), BY)).toMatchObject({ ...parts, language: 4 });
    expect((await reader.snapshot('acme'))!.rules).toMatchObject([parts]);
    // Readers of before know the number only.
    expect(await dataSource.query('SELECT cost FROM rule')).toEqual([{ cost: 500 }]);
    const plain = { cost: 3, charge: null, onUnreadableBody: null, reserve: null, language: 1 };
    expect(await rules.replace('acme', id, 'any', ruleSpec({ cost: 3 }), BY)).toMatchObject(plain);
    expect((await reader.snapshot('acme'))!.rules[0]).not.toHaveProperty('charge');
  });

  it('keeps consistencies and what holds for leases, and a reader of before finds a policy that it knows', async () => {
    const parts = { consistency: 'leased', onStoreFailure: 'leased' } as const;
    const { id } = await rules.create('acme', ruleSpec(parts), BY);
    expect(await rules.find('acme', id)).toMatchObject({ ...parts, language: 1 });
    expect((await reader.snapshot('acme'))!.rules).toMatchObject([{ consistency: 'leased', onStoreFailure: 'closed' }]);
    const columns = async () => await dataSource.query('SELECT consistency, on_store_failure, store_failure_leased FROM rule');
    expect(await columns()).toEqual([{ consistency: 'leased', on_store_failure: 'closed', store_failure_leased: true }]);
    const deleted = (await rules.find('acme', id))!;
    await rules.delete('acme', id, 'any', BY);
    expect(await rules.restore('acme', deleted, 'any', ruleSpec(parts), BY)).toMatchObject(parts);
    const plain = { consistency: 'exact', onStoreFailure: 'closed' } as const;
    expect(await rules.replace('acme', id, 'any', ruleSpec(plain), BY)).toMatchObject(plain);
    expect(await columns()).toEqual([{ consistency: null, on_store_failure: 'closed', store_failure_leased: null }]);
    expect((await reader.snapshot('acme'))!.rules[0]).not.toHaveProperty('consistency');
    await dataSource.query(`UPDATE rule SET consistency = 'eventual'`);
    await expect(reader.snapshot('acme')).rejects.toThrow(/consistency/);
  });

  describe.each<[string, RuleOwner, number]>([
    ['of a merchant', 'acme', 2],
    ['of a plan', { plan: 'pro' }, 2],
    ['by default', null, 1],
  ])('a rule %s', (_name, owner, firstVersion) => {
    it('is created with its limits started, its version, audit row and outbox row', async () => {
      const created = await rules.create(owner, ruleSpec(), BY);
      expect(created).toMatchObject({ ...ruleSpec(), ...ownerColumns(owner), id: '1', version: 1 });
      expect(created.limits).toMatchObject([{ id: 0, generation: 0, since: { atMs: NOW, tokens: 10 }, previous: [] }]);
      expect(await outbox()).toEqual([[owner, firstVersion]]);
      expect(await dataSource.manager.find(AuditEntity, { where: { action: 'rule.created' } })).toMatchObject([
        { merchantId: ownerColumns(owner).merchantId, ruleId: '1', before: null, after: { name: 'card payments', ...ownerColumns(owner) } },
      ]);
    });

    it('keeps every part of the language, loses the parts that it is replaced without, and says which version one has to know', async () => {
      const parts = {
        mode: { enforcePercent: 10 },
        validFrom: '2026-12-01T00:00:00+01:00',
        schedule: { weekly: [{ days: ['mon' as const], from: '22:00', to: '06:00' }] },
        match: { methods: [], paths: [], all: [{ not: { field: 'header.X-Channel', in: ['web', 7] } }] },
        key: ['merchant', 'ip.prefix'],
      };
      const created = await rules.create(owner, ruleSpec(parts), BY);
      expect(created).toMatchObject({ ...parts, validTo: null, language: 2 });
      const snapshot = async () => {
        if (owner === null) return reader.defaultRules();
        return (await (typeof owner === 'string' ? reader.snapshot(owner) : reader.plan(owner.plan)))!;
      };
      expect((await snapshot()).rules).toEqual([expect.objectContaining(parts)]);
      const replaced = await rules.replace(owner, created.id, [1], ruleSpec(), BY);
      expect(replaced).toMatchObject({ ...ruleSpec(), validFrom: null, schedule: null, language: 1 });
      await rules.delete(owner, created.id, [2], BY);
      expect(await rules.restore(owner, replaced, [2], ruleSpec(parts), BY)).toMatchObject({ ...parts, language: 2 });
      await dataSource.query('UPDATE rule SET language = 99');
      expect(await snapshot()).toMatchObject({ rules: [], newerRules: [{ id: created.id, language: 99, onStoreFailure: 'local' }] });
      await dataSource.query(`UPDATE rule SET language = 2, mode = '{"enforcePercent":'`);
      await expect(snapshot()).rejects.toThrow(/mode/);
    });

    it('is replaced if it has the expected version, and its limits keep their history', async () => {
      const { id } = await rules.create(owner, ruleSpec(), BY);
      nowMs = NOW + 60_000;
      const [burst] = ruleSpec().limits;
      const spec = ruleSpec({ name: 'renamed', limits: [{ ...(burst as TokenBucketSpec), capacity: 20 }] });
      const replaced = await rules.replace(owner, id, [1], spec, BY);
      expect(replaced).toMatchObject({ id, name: 'renamed', version: 2 });
      expect(replaced.limits).toMatchObject([{ id: 0, capacity: 20, generation: 1, previous: [{ capacity: 10, generation: 0 }] }]);
      await expect(rules.replace(owner, id, [1], spec, BY)).rejects.toThrow('the version is 2 by now');
      await expect(rules.replace(owner, '99', 'any', spec, BY)).rejects.toThrow(/no rule 99/);
      expect(await outbox()).toEqual([
        [owner, firstVersion],
        [owner, firstVersion + 1],
      ]);
    });

    it('is deleted if it has the expected version', async () => {
      const { id } = await rules.create(owner, ruleSpec(), BY);
      await expect(rules.delete(owner, id, [2], BY)).rejects.toThrow('the version is 1 by now');
      await rules.delete(owner, id, [1, 2], BY);
      expect(await rules.find(owner, id)).toBeNull();
      await expect(rules.delete(owner, id, 'any', BY)).rejects.toThrow(/no rule/);
      expect(await outbox()).toEqual([
        [owner, firstVersion],
        [owner, firstVersion + 1],
      ]);
    });

    it('cannot have the name of another rule of its owner', async () => {
      await rules.create(owner, ruleSpec(), BY);
      const other = await rules.create(owner, ruleSpec({ name: 'other' }), BY);
      await expect(rules.create(owner, ruleSpec(), BY)).rejects.toThrow('there already is a rule named "card payments" here');
      await expect(rules.replace(owner, other.id, 'any', ruleSpec(), BY)).rejects.toThrow(/already is a rule/);
      expect(await outbox()).toHaveLength(2);
    });

    it('is replaced by only one of many simultaneous writers', async () => {
      const { id } = await rules.create(owner, ruleSpec(), BY);
      const results = await Promise.allSettled(
        Array.from({ length: 10 }, (_, index) => rules.replace(owner, id, [1], ruleSpec({ priority: index }), BY)),
      );
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await rules.find(owner, id)).toMatchObject({ version: 2 });
      expect(await outbox()).toHaveLength(2);
    });

    it('loses no edit when its writers accept any version', async () => {
      const { id } = await rules.create(owner, ruleSpec(), BY);
      await Promise.all(Array.from({ length: 10 }, (_, index) => rules.replace(owner, id, 'any', ruleSpec({ priority: index }), BY)));
      expect(await rules.find(owner, id)).toMatchObject({ version: 11 });
      expect((await outbox()).map(([, version]) => version)).toEqual(Array.from({ length: 11 }, (_, index) => firstVersion + index));
    });
  });

  it('may have the same name under another owner', async () => {
    await rules.create('acme', ruleSpec(), BY);
    await expect(rules.create(null, ruleSpec(), BY)).resolves.toMatchObject({ merchantId: null, plan: null });
    await expect(rules.create({ plan: 'pro' }, ruleSpec(), BY)).resolves.toMatchObject({ merchantId: null, plan: 'pro' });
  });

  it('belongs to its owner alone', async () => {
    const own = await rules.create('acme', ruleSpec(), BY);
    const byDefault = await rules.create(null, ruleSpec(), BY);
    expect(await rules.find(null, own.id)).toBeNull();
    expect(await rules.find('acme', byDefault.id)).toBeNull();
    await expect(rules.delete(null, own.id, 'any', BY)).rejects.toThrow(/no rule/);
    await expect(rules.replace('acme', byDefault.id, 'any', ruleSpec(), BY)).rejects.toThrow(/no rule/);
    const shared = await rules.create({ plan: 'pro' }, ruleSpec(), BY);
    for (const owner of [null, 'acme', { plan: 'free' }]) expect(await rules.find(owner, shared.id)).toBeNull();
    await expect(rules.delete(null, shared.id, 'any', BY)).rejects.toThrow(/no rule/);
    for (const owner of [null, 'acme', { plan: 'pro' }]) expect(await rules.list(owner, { limit: 10 })).toHaveLength(1);
    expect((await rules.ofOwners(null)).map(({ id }) => id)).toEqual([byDefault.id]);
    expect((await rules.ofPlans(['pro', 'free'])).map(({ id }) => id)).toEqual([shared.id]);
  });

  it('of a plan is enabled or not as it was written, and never an enabled default rule to whoever knows no plans', async () => {
    const on = await rules.create({ plan: 'pro' }, ruleSpec(), BY);
    const off = await rules.create({ plan: 'pro' }, ruleSpec({ name: 'off', enabled: false }), BY);
    expect([on.enabled, off.enabled]).toEqual([true, false]);
    await rules.replace({ plan: 'pro' }, off.id, 'any', ruleSpec({ name: 'on by now' }), BY);
    expect((await rules.list({ plan: 'pro' }, { limit: 10 })).map(({ enabled }) => enabled)).toEqual([true, true]);
    // The condition of gateways and preloaders of before.
    expect(await dataSource.query('SELECT id FROM rule WHERE merchant_id IS NULL AND enabled')).toEqual([]);
    const [audited] = await dataSource.manager.find(AuditEntity, { where: { ruleId: on.id } });
    expect(audited?.after).toMatchObject({ enabled: true });
    expect(audited?.after).not.toHaveProperty('planEnabled');
    await rules.delete({ plan: 'pro' }, on.id, 'any', BY);
    expect(await rules.restore({ plan: 'pro' }, on, 'any', ruleSpec(), BY)).toMatchObject({
      id: on.id,
      plan: 'pro',
      enabled: true,
      version: 2,
    });
  });

  it('needs a merchant or a plan that exists', async () => {
    await expect(rules.create('nobody', ruleSpec(), BY)).rejects.toThrow('there is no merchant "nobody"');
    await expect(rules.delete('nobody', '1', 'any', BY)).rejects.toThrow(/no merchant/);
    await expect(rules.create({ plan: 'nothing' }, ruleSpec(), BY)).rejects.toThrow('there is no plan "nothing"');
    expect(await outbox()).toEqual([]);
  });

  it('is listed by priority, then by age, page by page', async () => {
    for (const [index, priority] of [5, 100, 5, 0, 1_000_000, 5].entries()) {
      await rules.create('acme', ruleSpec({ name: `rule ${index}`, priority }), BY);
    }
    const seen: string[] = [];
    let after: { priority: number; id: string } | undefined;
    do {
      const page = await rules.list('acme', { after, limit: 2 });
      seen.push(...page.map(({ name }) => name));
      after = page.at(-1);
    } while (after);
    expect(seen).toEqual(['rule 4', 'rule 1', 'rule 0', 'rule 2', 'rule 5', 'rule 3']);
  });

  it('is refused if its owner has the maximum number of rules, also when many are created at once', async () => {
    const { id } = await rules.create('acme', ruleSpec(), BY);
    const columns = 'merchant_id, layer, priority, enabled, mode, match, key, limits, cost, on_store_failure, version';
    await dataSource.query(
      `INSERT INTO rule (name, ${columns}) SELECT 'rule ' || n, ${columns} FROM rule, generate_series(1, $2::int) n WHERE id = $1`,
      [id, MAX_RULES_PER_OWNER - 3],
    );
    const results = await Promise.allSettled(
      Array.from({ length: 6 }, (_, index) => rules.create('acme', ruleSpec({ name: `late ${index}` }), BY)),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(await rules.list('acme', { limit: 1_000 })).toHaveLength(MAX_RULES_PER_OWNER);
  });
});
