import { MIGRATIONS } from '#migrations';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { DataSource, type DataSourceOptions, type MigrationInterface } from 'typeorm';
import {
  ApiTokenRepository,
  ApprovalRepository,
  createDataSource,
  IdempotencyKeyRepository,
  drainOutbox,
  isDatabaseUnavailable,
  MerchantApiKeyRepository,
  MerchantRepository,
  migrate,
  OverrideRepository,
  PlanRepository,
  revertAll,
  revertLast,
  RuleReader,
  RuleRepository,
  SwitchRepository,
  WebhookRepository,
} from '#rules-db';
import { retryUntilDone } from '#waiting';
import { freshDatabase, type TestDatabase } from '../../support/services.js';
import { until } from '../../support/until.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { BY } from '../../support/factories/merchants.js';

const TABLES = [
  'merchant',
  'merchant_label',
  'rule',
  'default_rules_version',
  'deleted_merchant',
  'plan',
  'deleted_plan',
  'audit',
  'audit_head',
  'outbox',
  'api_token',
  'idempotency_key',
  'merchant_api_key',
  'approval',
  'webhook',
  'webhook_event',
  'webhook_delivery',
  'rule_override',
  'switch',
  'switch_version',
];

/** Every row of every table, as text. */
async function contents(dataSource: DataSource): Promise<Record<string, unknown>> {
  const tables = await Promise.all(
    TABLES.map(async (table) => [table, await dataSource.query(`SELECT row_to_json(t)::text FROM ${table} t ORDER BY 1`)] as const),
  );
  return Object.fromEntries(tables);
}

describe('migrations', () => {
  let database: TestDatabase;
  let dataSource: DataSource;

  beforeEach(async () => {
    database = await freshDatabase();
    dataSource = createDataSource(database.url);
  });
  afterEach(async () => {
    if (dataSource.isInitialized) await dataSource.destroy();
    await database.drop();
  });

  /** Something in every table. */
  async function populate(): Promise<void> {
    const merchants = new MerchantRepository(dataSource);
    const rules = new RuleRepository(dataSource);
    await merchants.create({ id: 'acme', name: 'Acme', timeZone: 'Europe/Berlin', labels: { region: 'eu' } }, BY);
    await merchants.create({ id: 'gone', name: 'Gone', timeZone: 'UTC' }, BY);
    await merchants.delete('gone', 'any', BY);
    await rules.create('acme', ruleSpec(), BY);
    const byBody = { cost: { field: 'body.a', max: 9 }, charge: { on: 'request' }, onUnreadableBody: 'refuse' } as const;
    const penalty = { refusals: 3, windowMs: 1_000, blockMs: 60_000 };
    await rules.create('acme', ruleSpec({ name: 'with a penalty', penalty, ...byBody }), BY);
    const schedule = { weekly: [{ days: ['mon' as const], from: '01:00', to: '06:00' }] };
    await rules.create(
      null,
      ruleSpec({
        name: 'default',
        validTo: '2030-01-01T00:00:00Z',
        schedule,
        mode: { enforcePercent: 5 },
        note: 'two\nlines',
        labels: { team: 'risk' },
      }),
      BY,
    );
    const plans = new PlanRepository(dataSource);
    for (const name of ['gone', 'pro']) await plans.create(name, { note: 'why', labels: { team: 'sales' } }, BY);
    await plans.delete('gone', 'any', BY);
    await rules.create({ plan: 'pro' }, ruleSpec({ name: 'default', schedule }), BY);
    await merchants.create({ id: 'joined', name: 'Joined', timeZone: 'UTC', plan: 'pro' }, BY);
    await new IdempotencyKeyRepository(dataSource).claim({ bearer: 'ci', key: 'one', requestHash: Buffer.alloc(32, 1) });
    const change = { action: 'rule.deleted', merchantId: 'acme', ruleId: '1', version: 1, before: { id: '1' }, after: null };
    await new ApprovalRepository(dataSource).want(change, BY, 1_000);
    const webhook = { url: 'https://example.com/', events: ['rule.changed'], enabled: true, labels: {} } as const;
    const { id } = await new WebhookRepository(dataSource).create(webhook, Buffer.alloc(32, 5), BY);
    await new WebhookRepository(dataSource).test(id, (type) => type, BY);
    const { id: ruleId } = (await rules.list('acme', { limit: 1 }))[0]!;
    const override = { ruleId, numbers: { multiply: 5 }, untilMs: Date.now() + 60_000, reason: 'a sale' };
    await new OverrideRepository(dataSource).create('acme', override, BY);
    const token = { name: 'ci', role: 'viewer', merchants: [], label: 'region=eu', expiresAt: null } as const;
    await new ApiTokenRepository(dataSource).create(token, { prefix: 'abc', hash: Buffer.alloc(32, 7) }, BY);
    const key = { name: 'shop', user: 'u1', labels: { team: 'web' }, expiresAt: null };
    await new MerchantApiKeyRepository(dataSource).create('acme', key, { prefix: 'def', hash: Buffer.alloc(32, 8) }, BY);
    await new SwitchRepository(dataSource).switchOn(
      { name: 'kill', expected: 'any', by: BY },
      { layer: 'network', merchantId: 'acme' },
      new Date('2100-01-01'),
    );
  }

  it('run once, and a second time find nothing to do', async () => {
    expect(await migrate(dataSource)).toEqual([
      'Rules1795190400000',
      'ChangeLog1795190500000',
      'Penalty1795305600000',
      'AuditChain1795400000000',
      'ApiTokens1795400100000',
      'Labels1795400200000',
      'IdempotencyKeys1795400300000',
      'Plans1795401000000',
      'Overrides1795402000000',
      'RuleLanguage1795403000000',
      'MerchantApiKeys1795405000000',
      'Approvals1795406000000',
      'Webhooks1795406010000',
      'AuditByStatement1795408000000',
      'WebhookMessages1795500000000',
      'RuleLabelsIndex1795800000000',
      'RuleBodiesAndAnswers1795850000000',
      'Switches1796000000000',
      'AuditByTime1797000000000',
      'RuleOnLimit1799000000000',
      'RuleReserve1799200000000',
      'MerchantNameStart1799300000000',
      'MerchantLabelTable1799400000000',
      'RuleConsistency1799500000000',
      'TokenLabel1799510000000',
      'AuditOfToken1799520000000',
      'SwitchVersions1799530000000',
      'AuditOfSwitch1799531000000',
    ]);
    expect(await migrate(dataSource)).toEqual([]);
  });

  it('create the schema that the entities describe', async () => {
    await migrate(dataSource);
    await dataSource.initialize();
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
  });

  /** One after the other. */
  async function revertPlans(reverted: DataSource): Promise<void> {
    const isThere = `SELECT to_regclass('plan') IS NOT NULL AS there`;
    while ((await reverted.query<[{ there: boolean }]>(isThere))[0].there) await revertLast(reverted);
  }

  it.each([
    ['plans and all that is newer', revertPlans, 'SELECT * FROM plan'],
    ['all', revertAll, 'SELECT * FROM outbox'],
  ])('lose no row when %s are reverted and run again on a populated database', async (_which, revert, gone) => {
    await migrate(dataSource);
    await dataSource.initialize();
    await populate();
    const before = await contents(dataSource);
    for (const rows of Object.values(before)) expect(rows).not.toHaveLength(0);

    await revert(dataSource);
    await expect(dataSource.query(gone)).rejects.toThrow(/does not exist/);
    // A plan's rule would be a default rule to an application that knows no plans.
    if (revert === revertPlans)
      expect(await dataSource.query('SELECT name FROM rule WHERE merchant_id IS NULL')).toEqual([{ name: 'default' }]);
    await migrate(dataSource);

    expect(await contents(dataSource)).toEqual(before);
    // Keys, sequences and constraints work on.
    const second = await new RuleRepository(dataSource).create('acme', ruleSpec({ name: 'second' }), BY);
    expect(second.id).toBe('5');
    await expect(new RuleRepository(dataSource).create('acme', ruleSpec({ name: 'second' }), BY)).rejects.toThrow(/already/);
    expect((await new RuleReader(dataSource).snapshot('acme'))?.rules).toHaveLength(3);
    expect((await new RuleReader(dataSource).plan('pro'))?.rules).toHaveLength(1);
    expect((await new RuleReader(dataSource).snapshot('joined'))?.plan).toBe('pro');
    expect(await drainOutbox(dataSource, 100, () => Promise.resolve())).toBe(15);
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    expect(upQueries).toHaveLength(0);
  });

  it('may be reverted and run again any number of times', async () => {
    await migrate(dataSource);
    for (let round = 0; round < 3; round++) {
      await revertAll(dataSource);
      await migrate(dataSource);
    }
    await dataSource.initialize();
    await populate();
    expect(await new RuleReader(dataSource).merchantCount()).toBe(2);
  });

  /** A database that knows the migrations before this one only. */
  function before(name: string): DataSource {
    const known = MIGRATIONS.slice(
      0,
      MIGRATIONS.findIndex((Migration) => new Migration().name === name),
    );
    return new DataSource({ ...dataSource.options, migrations: known } as DataSourceOptions);
  }

  it('lock no two tables at once that a request reads together', async () => {
    await migrate(before('Labels1795400200000'));
    const reader = createDataSource(database.url, { statementTimeoutMs: 0 });
    await reader.initialize();
    const request = reader.createQueryRunner();
    await request.startTransaction();
    await request.query('SELECT 1 FROM merchant');
    // Again and again, as the Rules API does: on a slow machine the request may take longer than a migration waits for a lock.
    const migrated = retryUntilDone(() => migrate(dataSource), { isTemporary: isDatabaseUnavailable });
    await until('the migration waits for the request', async () => {
      const waiting = await reader.query(`SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'merchant'::regclass`);
      return (waiting as unknown[]).length > 0;
    });
    await request.query('SELECT 1 FROM rule');
    await request.commitTransaction();
    expect(await migrated).toContain('Labels1795400200000');
    await request.release();
    await reader.destroy();
  });

  it('find what an attempt has done that was cut off, and build anew an index that it left unfinished', async () => {
    await migrate(dataSource);
    await dataSource.initialize();
    await dataSource.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'merchant_name_prefix'::regclass`);
    const inSteps = MIGRATIONS.map((Migration): MigrationInterface => new Migration()).filter(({ transaction }) => transaction === false);
    expect(inSteps).not.toHaveLength(0);
    const runner = dataSource.createQueryRunner();
    for (const migration of inSteps) await migration.up(runner);
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    expect(upQueries).toHaveLength(0);
    expect(await runner.query('SELECT indexrelid::regclass::text AS name FROM pg_index WHERE NOT indisvalid')).toEqual([]);
    for (const migration of inSteps.toReversed()) for (let time = 0; time < 2; time++) await migration.down(runner);
    for (const migration of inSteps) await migration.up(runner);
    expect((await dataSource.driver.createSchemaBuilder().log()).upQueries).toHaveLength(0);
    await runner.release();
  });

  it('copy the labels of all merchants that stood before, and of one that is changed meanwhile what it has in the end', async () => {
    await migrate(before('MerchantLabelTable1799400000000'));
    await dataSource.initialize();
    // More than are copied at once. Some have no labels, and one has what only somebody by hand could have written.
    await dataSource.query(
      `INSERT INTO merchant (id, name, time_zone, version, rules_version, labels)
       SELECT 'm' || lpad(i::text, 4, '0'), 'x', 'UTC', 1, 1, CASE WHEN i % 7 = 0 THEN '{}'::jsonb ELSE '{"region":"eu","tier":"gold"}' END
       FROM generate_series(1, 2500) AS i`,
    );
    await dataSource.query(
      `UPDATE merchant SET labels = jsonb_build_object('n', 3, 'deep', '{}'::jsonb, 'long', repeat('x', 9000), 'region', 'eu') WHERE id = 'm0001'`,
    );
    const writer = dataSource.createQueryRunner();
    await writer.startTransaction();
    await writer.query(`SELECT 1 FROM merchant WHERE id = 'm2000' FOR UPDATE`);
    const migrated = retryUntilDone(() => migrate(dataSource), { isTemporary: isDatabaseUnavailable });
    await until('the migration waits for the writer', async () => {
      const waiting = await dataSource.query(`SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'`);
      return (waiting as unknown[]).length > 0;
    });
    await writer.query(`UPDATE merchant SET labels = '{"region":"us"}' WHERE id = 'm2000'`);
    await writer.commitTransaction();
    await writer.release();
    expect(await migrated).toContain('MerchantLabelTable1799400000000');

    const differences = await dataSource.query(`
      SELECT * FROM merchant_label FULL JOIN (
        SELECT id AS merchant_id, key, value #>> '{}' AS value FROM merchant, jsonb_each(labels) WHERE key IN ('region', 'tier')
      ) written USING (merchant_id, key, value) WHERE merchant_label.key IS NULL OR written.key IS NULL`);
    expect(differences).toEqual([]);
    expect(await dataSource.query(`SELECT key, value FROM merchant_label WHERE merchant_id = 'm2000'`)).toEqual([
      { key: 'region', value: 'us' },
    ]);
  });

  it('succeed in each of several processes that start at once', async () => {
    const program = `
      import { createDataSource, migrate } from '#rules-db';
      console.log((await migrate(createDataSource(process.env.DATABASE_URL))).length);`;
    const start = () =>
      promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
        env: { ...process.env, NODE_OPTIONS: '', DATABASE_URL: database.url },
      });
    const answers = await Promise.all([start(), start(), start()]);
    expect(answers.map(({ stdout }) => stdout.trim()).sort()).toEqual(['0', '0', String(MIGRATIONS.length)].sort());
  });
});
