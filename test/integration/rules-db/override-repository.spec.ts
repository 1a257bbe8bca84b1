import type { DataSource } from 'typeorm';
import { activeOverride, limitFaults, ruleUnder, type MerchantSnapshot } from '#limiter';
import { burst } from '#limiter/testing';
import {
  ApprovalWantedError,
  AuditRepository,
  MAX_ACTIVE_OVERRIDES,
  MerchantRepository,
  OverrideConflictError,
  OverrideFaultsError,
  OverrideNotFoundError,
  OverrideRepository,
  recordEndedOverrides,
  RuleNotFoundError,
  RuleReader,
  RuleRepository,
  type OverrideSpec,
  VersionConflictError,
} from '#rules-db';
import { BY, merchant } from '../../support/factories/merchants.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { migratedDatabase } from './database.js';

let dataSource: DataSource;
let close: () => Promise<void>;
const clock = { nowMs: Date.now() };
let overrides: OverrideRepository;
let rules: RuleRepository;
let merchants: MerchantRepository;
let own: string;
let shared: string;

const spec = (changes: Partial<OverrideSpec> = {}): OverrideSpec => ({
  ruleId: own,
  numbers: { multiply: 5 },
  untilMs: clock.nowMs + 60_000,
  reason: 'a sale',
  ...changes,
});
const snapshot = async (merchantId = 'acme'): Promise<MerchantSnapshot> => (await new RuleReader(dataSource).snapshot(merchantId))!;
const conflict = async (write: Promise<unknown>): Promise<string> => {
  const error = await write.catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(OverrideConflictError);
  return (error as OverrideConflictError).why;
};

beforeAll(async () => {
  ({ dataSource, close } = await migratedDatabase());
  overrides = new OverrideRepository(dataSource, () => clock.nowMs);
  rules = new RuleRepository(dataSource, () => clock.nowMs);
  merchants = new MerchantRepository(dataSource, () => clock.nowMs);
  shared = (await rules.create(null, ruleSpec({ name: 'shared' }), BY)).id;
});
afterAll(() => close());

beforeEach(async () => {
  clock.nowMs = Date.now();
  await merchants.create(merchant('acme'), BY);
  own = (await rules.create('acme', ruleSpec(), BY)).id;
});
afterEach(async () => {
  if (await merchants.find('acme')) await merchants.delete('acme', 'any', BY);
  await dataSource.query('DELETE FROM rule_override');
});

describe('an override', () => {
  it('is in the snapshot of its merchant, of its own rules and of default ones, and in no other', async () => {
    await merchants.create(merchant('other'), BY);
    expect(await snapshot()).not.toHaveProperty('overrides');
    const { version } = await snapshot();
    const one = await overrides.create('acme', spec(), BY);
    const other = await overrides.create(
      'acme',
      spec({ ruleId: shared, numbers: { limits: [{ name: 'burst', numbers: { capacity: 70 } }] } }),
      BY,
    );
    const after = await snapshot();
    expect(after.version).toBe(version + 2);
    expect(after.overrides).toMatchObject(
      [
        {
          ruleId: own,
          periods: [{ id: one.id, number: 1, multiply: 5, fromMs: clock.nowMs, untilMs: clock.nowMs + 60_000, deleted: false }],
        },
        { ruleId: shared, periods: [{ id: other.id, number: 1, limits: [{ limitId: 0, numbers: { capacity: 70 } }] }] },
      ].sort((a, b) => Number(a.ruleId) - Number(b.ruleId)),
    );
    const [limit] = ruleUnder(
      after.rules[0]!,
      after.overrides!.find(({ ruleId }) => ruleId === own)!,
      { atMs: clock.nowMs },
      'Etc/UTC',
    ).limits;
    expect(limit).toMatchObject({ capacity: 50, refillTokens: 25, refillIntervalMs: 1000 });
    expect(await snapshot('other')).not.toHaveProperty('overrides');
    expect(await new RuleReader(dataSource).merchantsAfter(null, 10, (each) => 'overrides' in each.parsed())).toEqual([true, false]);
    await merchants.delete('other', 'any', BY);
  });

  it('is one at a time for a rule, and another one begins when it has ended', async () => {
    const first = await overrides.create('acme', spec(), BY);
    expect(await conflict(overrides.create('acme', spec(), BY))).toBe('active');
    clock.nowMs += 60_000;
    await rules.replace('acme', own, 'any', ruleSpec({ limits: [burst({ capacity: 11 })] }), BY);
    const second = await overrides.create('acme', spec(), BY);
    const [{ periods }] = (await snapshot()).overrides as [NonNullable<MerchantSnapshot['overrides']>[0]];
    expect(periods).toMatchObject([
      { id: first.id, number: 1, before: [{ limitId: 0, generation: 0, override: 0 }] },
      { id: second.id, number: 2, before: [{ limitId: 0, generation: 1, override: 1 }] },
    ]);
    expect(activeOverride({ ruleId: own, periods }, clock.nowMs)?.id).toBe(second.id);
  });

  it('is remembered by snapshots while it is one of the last', async () => {
    for (let i = 0; i < 12; i++) {
      await overrides.create('acme', spec({ untilMs: clock.nowMs + 1000 }), BY);
      clock.nowMs += 1000;
    }
    const [{ periods }] = (await snapshot()).overrides as [NonNullable<MerchantSnapshot['overrides']>[0]];
    expect(periods.map(({ number }) => number)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect(await overrides.list('acme', { limit: 100 })).toHaveLength(12);
  });

  it('that makes a limit none is refused by the faults of the limit', async () => {
    const faults = async (changes: Partial<OverrideSpec>) => {
      const error = await overrides.create('acme', spec(changes), BY).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(OverrideFaultsError);
      return (error as OverrideFaultsError).faults;
    };
    const odd = burst({ name: 'odd', refillTokens: 50_000_017, refillIntervalMs: 86_400_000 });
    expect(limitFaults(odd)).toEqual([]);
    await rules.replace('acme', own, 'any', ruleSpec({ limits: [odd] }), BY);
    expect(await faults({ numbers: { multiply: 7 } })).toMatchObject([{ at: 'multiply', code: 'limit.refillTokens.inexact' }]);
    expect(await faults({ numbers: { limits: [{ name: 'odd', numbers: { capacity: -1 } }] } })).toMatchObject([
      { at: 'limits/0/capacity', code: 'limit.capacity.out_of_range' },
    ]);
    expect(await faults({ numbers: { limits: [{ name: 'unknown', numbers: { capacity: 1 } }] } })).toMatchObject([{ at: 'limits/0/name' }]);
    expect(await faults({ numbers: { limits: [{ name: 'odd', numbers: { capacity: 1 } }] }, untilMs: clock.nowMs })).toMatchObject([
      { at: 'until' },
    ]);
    expect(await overrides.list('acme', { limit: 10 })).toEqual([]);
  });

  it('is refused of what is not the merchant’s, and of buckets that all merchants share', async () => {
    const all = await rules.create(null, ruleSpec({ name: 'by address', key: ['ip'] }), BY);
    expect(await conflict(overrides.create('acme', spec({ ruleId: all.id }), BY))).toBe('shared');
    await expect(overrides.create('acme', spec({ ruleId: '999999' }), BY)).rejects.toBeInstanceOf(RuleNotFoundError);
    await merchants.create(merchant('other'), BY);
    await expect(overrides.create('other', spec(), BY)).rejects.toBeInstanceOf(RuleNotFoundError);
    await merchants.delete('other', 'any', BY);
    await rules.delete(null, all.id, 'any', BY);
  });

  it('is one of a bounded number', async () => {
    const created = Array.from({ length: MAX_ACTIVE_OVERRIDES }, (_, i) => ruleSpec({ name: `rule ${i}` }));
    await rules.editAll([{ owner: 'acme', deleted: [], replaced: [], created }], BY);
    const ids = (await rules.list('acme', { limit: 100 })).map(({ id }) => id);
    for (const ruleId of ids.slice(0, MAX_ACTIVE_OVERRIDES)) await overrides.create('acme', spec({ ruleId }), BY);
    expect(await conflict(overrides.create('acme', spec({ ruleId: ids.at(-1)! }), BY))).toBe('too_many');
  });

  it('that is deleted has ended, once, and one that has ended by itself stays as it is', async () => {
    const { id } = await overrides.create('acme', spec(), BY);
    clock.nowMs += 1000;
    await overrides.delete('acme', id, BY);
    const { version, overrides: carried } = await snapshot();
    expect(carried).toMatchObject([{ periods: [{ id, untilMs: clock.nowMs, deleted: true }] }]);
    clock.nowMs += 1000;
    await overrides.delete('acme', id, BY);
    expect((await overrides.find('acme', id))?.untilAt.getTime()).toBe(clock.nowMs - 1000);
    expect((await snapshot()).version).toBe(version + 1);
    await expect(overrides.delete('acme', '999999', BY)).rejects.toBeInstanceOf(OverrideNotFoundError);
    await expect(overrides.create('acme', spec(), BY)).resolves.toMatchObject({ number: 2 });
  });

  it('whose end nobody has caused is written down, once, by whoever comes first', async () => {
    const { id } = await overrides.create('acme', spec(), BY);
    expect(await recordEndedOverrides(dataSource, 10)).toBe(0);
    await dataSource.query(`UPDATE rule_override SET until_at = now() - interval '1 second' WHERE id = $1`, [id]);
    const written = await Promise.all([recordEndedOverrides(dataSource, 10), recordEndedOverrides(dataSource, 10)]);
    expect(written.reduce((sum, each) => sum + each)).toBe(1);
    const rows = await new AuditRepository(dataSource).list({ merchantId: 'acme', ruleId: own }, { limit: 2 });
    expect(rows).toMatchObject([
      { action: 'override.ended', actor: 'tollgate', after: { override: id, state: 'ended' } },
      { action: 'override.created', actor: BY.name, after: { multiply: 5, reason: 'a sale', state: 'active' } },
    ]);
  });

  it('whose end is written down is told to webhooks that want to know, in the same transaction', async () => {
    const bodies = async () =>
      ((await dataSource.query('SELECT body FROM webhook_event ORDER BY id')) as { body: string }[]).map(({ body }) => body);
    await dataSource.query(
      `INSERT INTO webhook (url, events, enabled, secret, version) VALUES ('https://example.com/', '["override.ended"]', true, '', 1)`,
    );
    const { id } = await overrides.create('acme', spec(), BY);
    await dataSource.query(`UPDATE rule_override SET until_at = now() - interval '1 second' WHERE id = $1`, [id]);
    await Promise.all([recordEndedOverrides(dataSource, 10), recordEndedOverrides(dataSource, 10)]);
    expect((await bodies()).map((body) => JSON.parse(body) as object)).toMatchObject([
      { type: 'override.ended', data: { overrideId: id, merchantId: 'acme', ruleId: own, multiply: 5, state: 'ended', actor: 'tollgate' } },
    ]);
    await dataSource.query('TRUNCATE webhook, webhook_event, webhook_delivery');
  });

  it('that is larger than one administrator may make it wants approval and leaves no trace, and begins once it is approved', async () => {
    const careful = new OverrideRepository(dataSource, () => clock.nowMs, 4);
    await careful.create('acme', spec({ ruleId: shared, numbers: { multiply: 4 } }), BY);
    const { version } = await snapshot();
    const large = { limits: [{ name: 'burst', numbers: { refillTokens: 25 } }] };
    const error = await careful.create('acme', spec({ numbers: large }), BY).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ApprovalWantedError);
    const until = new Date(clock.nowMs + 60_000).toISOString();
    expect((error as ApprovalWantedError).changes).toEqual([
      {
        action: 'override.created',
        merchantId: 'acme',
        ruleId: own,
        version: 1,
        before: null,
        after: { ruleId: own, limits: [{ name: 'burst', refillTokens: 25 }], until, reason: 'a sale' },
      },
    ]);
    expect((await snapshot()).version).toBe(version);
    const approved = { ...BY, approval: { id: '5', by: 'second' } };
    await rules.replace('acme', own, 'any', ruleSpec({ priority: 7 }), BY);
    const late = careful.create('acme', spec({ numbers: large, ruleVersion: 1 }), approved);
    await expect(late).rejects.toBeInstanceOf(VersionConflictError);
    await expect(careful.create('acme', spec({ numbers: large, ruleVersion: 2 }), approved)).resolves.toMatchObject({ number: 1 });
  });

  it('is remembered of a merchant that is deleted and comes back, and no longer in force', async () => {
    const { id } = await overrides.create('acme', spec({ ruleId: shared }), BY);
    await merchants.delete('acme', 'any', BY);
    expect((await snapshot()).overrides).toMatchObject([{ ruleId: shared, periods: [{ id, deleted: true }] }]);
    await merchants.create(merchant('acme'), BY);
    expect((await snapshot()).overrides).toMatchObject([{ periods: [{ id, deleted: true }] }]);
    await expect(overrides.create('acme', spec({ ruleId: shared }), BY)).resolves.toMatchObject({ number: 2 });
  });
});
