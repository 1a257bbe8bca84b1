import type { DataSource } from 'typeorm';
import {
  ApprovalWantedError,
  AuditEntity,
  inOneTransaction,
  MerchantApiKeyRepository,
  MerchantRepository,
  MAX_RULES_PER_OWNER,
  OverrideRepository,
  PlanRepository,
  RuleRepository,
  TooManyRulesError,
  WebhookRepository,
} from '#rules-db';
import { BY } from '../../support/factories/merchants.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { emptyTables, migratedDatabase } from './database.js';

describe('rows that are written in sets', () => {
  let dataSource: DataSource;
  let close: () => Promise<void>;
  let merchants: MerchantRepository;
  let rules: RuleRepository;

  beforeAll(async () => {
    ({ dataSource, close } = await migratedDatabase());
    merchants = new MerchantRepository(dataSource);
    rules = new RuleRepository(dataSource);
    const webhook = { url: 'https://example.com/', events: ['rule.changed'], enabled: true, labels: {} } as const;
    await new WebhookRepository(dataSource).create(webhook, Buffer.alloc(32, 5), BY);
  });
  beforeEach(async () => {
    await emptyTables(dataSource);
    await dataSource.query('TRUNCATE rule_override, webhook_event CASCADE');
    await merchants.createAll(
      ['acme', 'beta'].map((id) => ({ id, name: id, timeZone: 'UTC' })),
      BY,
    );
  });
  afterAll(() => close());

  const PARTS = {
    mode: { enforcePercent: 10 },
    validFrom: '2026-12-01T00:00:00+01:00',
    validTo: '2026-12-02T00:00:00Z',
    schedule: { weekly: [{ days: ['mon' as const], from: '22:00', to: '06:00' }] },
    penalty: { refusals: 3, windowMs: 1_000, blockMs: 60_000 },
    note: 'why',
    labels: { team: 'risk' },
  };
  const events = async () =>
    ((await dataSource.query('SELECT body FROM webhook_event ORDER BY id')) as { body: string }[]).map(
      ({ body }) => (JSON.parse(body) as { data: { merchantId: string; changes: { action: string }[] } }).data,
    );
  const all = (owner: string) => rules.list(owner, { limit: 10 });
  const nothing = { deleted: [], replaced: [], created: [] };

  it('have every column as the writes of single rows have it, and so has the audit', async () => {
    const single = await rules.create('acme', ruleSpec(PARTS), BY);
    const plain = await rules.create('acme', ruleSpec({ name: 'plain' }), BY);
    await rules.editAll([{ ...nothing, owner: 'beta', created: [ruleSpec(PARTS), ruleSpec({ name: 'plain' })] }], BY);
    const [first, second] = (await all('beta')).sort((a, b) => a.name.localeCompare(b.name));
    const asWritten = ({ id: _, merchantId: __, createdAt: ___, updatedAt: ____, limits, ...others }: typeof single) => ({
      ...others,
      limits: limits.map(({ since: _since, ...limit }) => limit),
    });
    expect([asWritten(first!), asWritten(second!)]).toEqual([asWritten(single), asWritten(plain)]);

    await rules.editAll(
      [
        {
          ...nothing,
          owner: 'beta',
          replaced: [
            { before: first!, spec: ruleSpec({ name: first!.name }) },
            { before: second!, spec: ruleSpec({ ...PARTS, name: 'plain' }) },
          ],
        },
      ],
      BY,
    );
    const swapped = (await all('beta')).sort((a, b) => a.name.localeCompare(b.name));
    expect(swapped).toMatchObject([
      {
        mode: ruleSpec().mode,
        validFrom: null,
        schedule: null,
        penalty: null,
        language: 1,
        version: 2,
      },
      { ...PARTS, language: 2, version: 2 },
    ]);
    for (const rule of swapped) {
      const [row] = await dataSource.manager.find(AuditEntity, { where: { ruleId: rule.id }, order: { id: 'DESC' }, take: 1 });
      expect(row!.after).toEqual(JSON.parse(JSON.stringify(rule)));
    }
  });

  it('of a plan are stored as single ones are, and counted apart from those of others', async () => {
    await new PlanRepository(dataSource).create('pro', { note: '', labels: {} }, BY);
    const owner = { plan: 'pro' };
    const single = await rules.create(owner, ruleSpec({ name: 'single' }), BY);
    await rules.editAll([{ ...nothing, owner, created: [ruleSpec({ name: 'in a set' })] }], BY);
    await rules.editAll([{ ...nothing, owner, replaced: [{ before: single, spec: ruleSpec({ name: 'single', cost: 2 }) }] }], BY);
    expect(await rules.ofPlans(['pro'])).toMatchObject([
      { name: 'in a set', plan: 'pro', merchantId: null, enabled: true },
      { name: 'single', cost: 2, enabled: true },
    ]);
    expect(await dataSource.query('SELECT DISTINCT enabled, plan_enabled FROM rule')).toEqual([{ enabled: false, plan_enabled: true }]);
    const many = (count: number) => Array.from({ length: count }, (_, i) => ruleSpec({ name: `rule ${i}` }));
    await expect(rules.editAll([{ ...nothing, owner, created: many(MAX_RULES_PER_OWNER - 1) }], BY)).rejects.toThrow(TooManyRulesError);
    await rules.editAll([{ ...nothing, owner: 'acme', created: many(MAX_RULES_PER_OWNER) }], BY);
  });

  it('tell receivers of each owner once', async () => {
    await dataSource.query('DELETE FROM webhook_event');
    await inOneTransaction(dataSource, (transaction) =>
      new RuleRepository(transaction).editAll(
        ['acme', 'beta'].map((owner) => ({ ...nothing, owner, created: [ruleSpec(), ruleSpec({ name: 'second' })] })),
        BY,
      ),
    );
    expect((await events()).map(({ merchantId, changes }) => [merchantId, changes.map(({ action }) => action)])).toEqual(
      ['acme', 'beta'].map((owner) => [owner, ['rule.created', 'rule.created']]),
    );
  });

  it('change no protected rule without an approval, and nothing beside it', async () => {
    const kept = await rules.create('acme', ruleSpec({ labels: { protected: 'true' } }), BY);
    const edit = { ...nothing, owner: 'acme', created: [ruleSpec({ name: 'new' })] };
    const replaced = [{ before: kept, spec: ruleSpec({ labels: {}, cost: 2 }) }];
    for (const refused of [
      { ...edit, replaced },
      { ...edit, deleted: [kept] },
    ])
      await expect(rules.editAll([refused], BY)).rejects.toThrow(ApprovalWantedError);
    await expect(merchants.deleteAll(['acme', 'beta'], BY)).rejects.toThrow(ApprovalWantedError);
    expect(await all('acme')).toEqual([kept]);
    expect((await rules.protectedOf(['acme', 'beta'])).map(({ id }) => id)).toEqual([kept.id]);

    await rules.editAll([{ ...edit, replaced }], { ...BY, approval: { id: '1', by: 'bob' } });
    expect(await rules.protectedOf(['acme'])).toEqual([]);
  });

  it('of deleted merchants end their overrides, and the audit has their rules and API keys', async () => {
    const { id: ruleId } = await rules.create('acme', ruleSpec(), BY);
    const override = { ruleId, numbers: { multiply: 5 }, untilMs: Date.now() + 600_000, reason: null };
    const { id } = await new OverrideRepository(dataSource).create('acme', override, BY);
    const key = { name: 'shop', user: null, labels: {}, expiresAt: null };
    await new MerchantApiKeyRepository(dataSource).create('acme', key, { prefix: 'abc', hash: Buffer.alloc(32, 8) }, BY);
    await dataSource.query('DELETE FROM webhook_event');

    await merchants.deleteAll(['acme', 'beta'], BY);
    const ended = await new OverrideRepository(dataSource).find('acme', id);
    expect(ended).toMatchObject({ deleted: true, endRecorded: true });
    expect(ended!.untilAt.getTime()).toBeLessThanOrEqual(Date.now());
    const rows = await dataSource.manager.find(AuditEntity, { where: { action: 'merchant.deleted' }, order: { id: 'ASC' } });
    expect(rows.map(({ before }) => before)).toMatchObject([
      { id: 'acme', rules: [{ id: ruleId }], apiKeys: [{ name: 'shop' }] },
      { id: 'beta', rules: [] },
    ]);
    expect(JSON.stringify(rows)).not.toContain('hash');
    expect(rows[1]!.before).not.toHaveProperty('apiKeys');
    expect((await events()).map(({ merchantId }) => merchantId)).toEqual(['acme']);
  });
});
