import type { DataSource } from 'typeorm';
import { AuditEntity, drainOutbox, MerchantRepository, RuleReader, RuleRepository } from '#rules-db';
import { ruleSpec } from '../../support/factories/rules.js';
import { BY } from '../../support/factories/merchants.js';
import { emptyTables, migratedDatabase } from './database.js';

describe('MerchantRepository', () => {
  let dataSource: DataSource;
  let close: () => Promise<void>;
  let merchants: MerchantRepository;

  beforeAll(async () => {
    ({ dataSource, close } = await migratedDatabase());
    merchants = new MerchantRepository(dataSource);
  });
  beforeEach(() => emptyTables(dataSource));
  afterAll(() => close());

  const acme = { id: 'acme', name: 'Acme', timeZone: 'Europe/Berlin' };

  async function outbox() {
    const rows: { merchantId: string | null; version: number }[] = [];
    await drainOutbox(dataSource, 1_000, (found) => Promise.resolve(void rows.push(...found)));
    return rows.map(({ merchantId, version }) => [merchantId, version]);
  }

  it('creates a merchant with its version, audit row and outbox row', async () => {
    const created = await merchants.create(acme, BY);
    expect(created).toMatchObject({ ...acme, version: 1, rulesVersion: 1 });
    expect(created.createdAt).toBeInstanceOf(Date);
    expect(await outbox()).toEqual([['acme', 1]]);
    expect(await dataSource.manager.find(AuditEntity)).toMatchObject([
      { actor: 'admin', requestId: 'request-1', action: 'merchant.created', merchantId: 'acme', before: null, after: acme },
    ]);
  });

  it('refuses an id that is already in use, and writes nothing', async () => {
    await merchants.create(acme, BY);
    await expect(merchants.create({ ...acme, name: 'Other' }, BY)).rejects.toThrow('there already is a merchant "acme"');
    expect(await merchants.find('acme')).toMatchObject({ name: 'Acme' });
    expect(await outbox()).toHaveLength(1);
  });

  it('lets one of many simultaneous creations win', async () => {
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => merchants.create(acme, BY)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await outbox()).toEqual([['acme', 1]]);
  });

  it('updates a merchant only if it has the expected version', async () => {
    await merchants.create(acme, BY);
    const updated = await merchants.update('acme', [1], { name: 'Acme Ltd' }, BY);
    expect(updated).toMatchObject({ name: 'Acme Ltd', timeZone: 'Europe/Berlin', version: 2, rulesVersion: 2 });
    await expect(merchants.update('acme', [1], { name: 'Stale' }, BY)).rejects.toThrow('the version is 2 by now');
    expect(await merchants.update('acme', 'any', { timeZone: 'UTC' }, BY)).toMatchObject({ version: 3 });
    await expect(merchants.update('nobody', 'any', { name: 'x' }, BY)).rejects.toThrow('there is no merchant "nobody"');
    expect(await outbox()).toEqual([
      ['acme', 1],
      ['acme', 2],
      ['acme', 3],
    ]);
  });

  it('lets one of many simultaneous updates of one version win', async () => {
    await merchants.create(acme, BY);
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => merchants.update('acme', [1], { name: `name ${index}` }, BY)),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await merchants.find('acme')).toMatchObject({ version: 2, rulesVersion: 2 });
  });

  it('deletes a merchant with its rules and leaves a tombstone', async () => {
    await merchants.create(acme, BY);
    await new RuleRepository(dataSource).create('acme', ruleSpec(), BY);
    await expect(merchants.delete('acme', [7], BY)).rejects.toThrow('the version is 1 by now');
    await merchants.delete('acme', [1], BY);
    expect(await merchants.find('acme')).toBeNull();
    expect(await dataSource.query('SELECT * FROM rule')).toEqual([]);
    expect(await new RuleReader(dataSource).snapshot('acme')).toEqual({
      merchantId: 'acme',
      version: 3,
      exists: false,
      timeZone: 'Etc/UTC',
      rules: [],
    });
    expect(await outbox()).toEqual([
      ['acme', 1],
      ['acme', 2],
      ['acme', 3],
    ]);
    const audit = await dataSource.manager.find(AuditEntity, { order: { id: 'DESC' } });
    expect(audit[0]).toMatchObject({ action: 'merchant.deleted', before: { id: 'acme', rules: [{ name: 'card payments' }] }, after: null });
    await expect(merchants.delete('acme', 'any', BY)).rejects.toThrow(/no merchant/);
  });

  it('continues both versions of a merchant from its tombstone', async () => {
    await merchants.create(acme, BY);
    await merchants.update('acme', 'any', { name: 'Renamed' }, BY);
    await merchants.delete('acme', 'any', BY);
    expect(await merchants.create(acme, BY)).toMatchObject({ version: 4, rulesVersion: 4 });
    expect(await dataSource.query('SELECT * FROM deleted_merchant')).toEqual([]);
    await merchants.delete('acme', 'any', BY);
    expect((await new RuleReader(dataSource).snapshot('acme'))?.version).toBe(5);
  });

  it('never lowers a version while creations and deletions race', async () => {
    const versions: number[] = [];
    const churn = async (): Promise<void> => {
      for (let i = 0; i < 8; i++) {
        await merchants.create(acme, BY).then(
          ({ rulesVersion }) => versions.push(rulesVersion),
          () => undefined,
        );
        await merchants.delete('acme', 'any', BY).catch(() => undefined);
      }
    };
    await Promise.all([churn(), churn(), churn()]);
    expect(versions.length).toBeGreaterThan(1);
    expect(new Set(versions).size).toBe(versions.length);
    const published = (await outbox()).map(([, version]) => version as number);
    expect(published).toEqual([...published].sort((a, b) => a - b));
    expect(new Set(published).size).toBe(published.length);
  });

  it('lists merchants by the bytes of their ids, whatever the ids contain', async () => {
    const ids = ['a', 'B', 'ä', 'a:b', '{x}', "o'hara", '🙂', 'a/b', 'Z', '%'];
    for (const id of ids) await merchants.create({ ...acme, id }, BY);
    const seen: string[] = [];
    for (let after: string | undefined; ; after = seen.at(-1)) {
      const page = await merchants.list({ after, limit: 3 });
      seen.push(...page.map(({ id }) => id));
      if (page.length < 3) break;
    }
    expect(seen).toEqual([...ids].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  });

  describe('finds merchants with a label of their own, or of one of their rules', () => {
    const risk = { key: 'team', value: 'risk' };

    beforeEach(async () => {
      const rules = new RuleRepository(dataSource);
      const labels = { team: 'risk' };
      for (const id of ['a', 'b', 'c', 'd', 'e']) await merchants.create({ ...acme, id, ...('be'.includes(id) && { labels }) }, BY);
      await rules.create('d', ruleSpec({ name: 'one', labels }), BY);
      await rules.create('d', ruleSpec({ name: 'another', labels }), BY);
      await rules.create('e', ruleSpec({ labels }), BY);
      await rules.create('a', ruleSpec({ labels: { team: 'ops' } }), BY);
      await rules.create(null, ruleSpec({ name: 'of nobody', labels }), BY);
    });

    it.each([
      [{ limit: 10 }, ['b', 'd', 'e']],
      [{ limit: 2 }, ['b', 'd']],
      [{ limit: 2, after: 'd' }, ['e']],
      [{ limit: 1, among: ['a', 'd', 'e'] }, ['d']],
      [{ limit: 10, among: ['a', 'd', 'e'], after: 'd' }, ['e']],
      [{ limit: 10, among: [] }, []],
    ])('page %j has %j', async (page, ids) => {
      expect((await merchants.list({ ...page, labelledInPart: risk })).map(({ id }) => id)).toEqual(ids);
    });

    it('and looks at no rule without labels', async () => {
      await dataSource.query(`
        INSERT INTO merchant (id, name, time_zone, version, rules_version) SELECT 'many ' || i, 'x', 'Etc/UTC', 1, 1 FROM generate_series(1, 200) i;
        INSERT INTO rule (merchant_id, name, layer, priority, enabled, mode, match, key, limits, cost, on_store_failure, version)
        SELECT 'many ' || i, 'rule ' || n, layer, priority, true, mode, match, key, limits, cost, on_store_failure, 1
        FROM (SELECT * FROM rule LIMIT 1) one, generate_series(1, 200) i, generate_series(1, 10) n;
        ANALYZE merchant, rule`);
      const runner = dataSource.createQueryRunner();
      try {
        const counters = async () => {
          await runner.query('SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot()');
          const [row] = (await runner.query(
            `SELECT t.seq_scan::int AS scans, i.idx_scan::int AS looks FROM pg_stat_user_tables t, pg_stat_user_indexes i
             WHERE t.relname = 'rule' AND i.indexrelname = 'rule_labels'`,
          )) as [{ scans: number; looks: number }];
          return row;
        };
        const onOne = new MerchantRepository({ manager: runner.manager, run: (work) => work(runner.manager, () => undefined) });
        const before = await counters();
        expect(await onOne.list({ limit: 200, labelledInPart: risk })).toHaveLength(3);
        expect(await counters()).toEqual({ scans: before.scans, looks: before.looks + 1 });
      } finally {
        await runner.release();
      }
    });
  });
});
