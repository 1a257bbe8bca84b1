import { jest } from '@jest/globals';
import type { DataSource } from 'typeorm';
import type { MerchantSnapshot, RuleSpec } from '#limiter';
import { burst } from '#limiter/testing';
import { bucketsInAdvance, compactSnapshotText, parseMerchantSnapshot, snapshotText } from '#limiter-redis';
import { MerchantRepository, type MerchantRows, OverrideRepository, PlanRepository, RuleReader, RuleRepository } from '#rules-db';
import { MerchantTexts, type ReadyMerchant } from '../../../apps/preloader/src/full-preload/merchant-texts.js';
import { BY } from '../../support/factories/merchants.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { migratedDatabase } from '../rules-db/database.js';

const HOUR_MS = 3_600_000;
const AWKWARD = 'tab\t, "quotes", \\N, back\\slash, "atMs": 7, ü 🙂';

/** Rules of many kinds, each with a part that the others do not have. */
const KINDS: readonly Partial<RuleSpec>[] = [
  {},
  { name: AWKWARD },
  { match: { methods: [], paths: [], all: [{ field: 'header.x-a', equals: AWKWARD }] } },
  { key: ['merchant', 'user'], layer: 'user' },
  { layer: 'platform', mode: 'shadow', priority: 7, onStoreFailure: 'leased' },
  { mode: { enforcePercent: 10 } },
  { cost: { field: 'body.amount', scale: 100, round: 'up', min: 1, max: 9, ifAbsent: 1 } },
  { limits: [burst(), burst({ name: 'second', throttle: 'elastic' })] },
  { limits: [{ name: 'a day', algorithm: 'fixed_window', limit: 5, start: 'clock', calendar: 'day', timeZone: 'Asia/Tokyo' }] },
  { limits: [{ name: 'slots', algorithm: 'concurrency', limit: 3, slotTimeoutMs: 1000 }] },
  { validFrom: '2026-12-01T00:00:00Z', validTo: '2027-12-01T00:00:00Z', penalty: { refusals: 5, windowMs: 1000, blockMs: 1000 } },
  { charge: { on: 'response', when: { field: 'response.status', from: 400, to: 499 } }, consistency: 'exact' },
];

let dataSource: DataSource;
let close: () => Promise<void>;
let reader: RuleReader;
const clock = { nowMs: 0 };
let rules: RuleRepository;

/** A merchant with a rule of some kinds, of which one was edited as often as the merchant is old, each at a time of its own. */
async function create(id: string, kinds: readonly Partial<RuleSpec>[], edits: number): Promise<void> {
  for (const [n, kind] of kinds.entries()) {
    clock.nowMs += HOUR_MS + 1;
    const spec = ruleSpec({ name: `rule ${n}`, ...kind });
    const { id: ruleId } = await rules.create(id, spec, BY);
    for (let i = 1; i <= edits; i++) {
      clock.nowMs += 1_234;
      const limits = spec.limits.map((limit) => ('capacity' in limit ? { ...limit, capacity: 10 + i } : limit));
      await rules.replace(id, ruleId, 'any', { ...spec, limits }, BY);
    }
  }
}

beforeAll(async () => {
  ({ dataSource, close } = await migratedDatabase());
  reader = new RuleReader(dataSource);
  clock.nowMs = Date.now();
  rules = new RuleRepository(dataSource, () => clock.nowMs);
  await new PlanRepository(dataSource).create('pro', { note: '', labels: {} }, BY);
  const merchants = new MerchantRepository(dataSource);
  for (const round of [1, 2, 3]) {
    for (const [n, kind] of KINDS.entries()) {
      const id = `m${round}-${n}`;
      await merchants.create({ id, name: AWKWARD, timeZone: n % 2 ? 'UTC' : 'Europe/Berlin', plan: n % 3 ? null : 'pro' }, BY);
      await create(id, n % 4 ? [kind] : [kind, { name: 'another' }], n % 3);
    }
    for (const id of [`it's {me} "${round}"`, `overridden-${round}`, `without-${round}`, `broken-${round}`])
      await merchants.create({ id, name: id, timeZone: 'UTC' }, BY);
    await create(`it's {me} "${round}"`, [{}], 0);
    await create(`overridden-${round}`, [{}], 0);
    await create(`broken-${round}`, [{ name: 'broken' }], 0);
  }
  const [{ id: ruleId }] = (await dataSource.query(`SELECT id FROM rule WHERE merchant_id = 'overridden-1'`)) as [{ id: string }];
  await new OverrideRepository(dataSource, () => clock.nowMs).create(
    'overridden-1',
    { ruleId, numbers: { multiply: 5 }, untilMs: clock.nowMs + HOUR_MS, reason: 'a sale' },
    BY,
  );
  await dataSource.query(`UPDATE rule SET limits = jsonb_set(limits, '{0,capacity}', '-1') WHERE name = 'broken'`);
});
afterAll(() => close());

/** The merchants after an id, with how often each had to be parsed. */
async function counted(after: string | null): Promise<{ merchant: MerchantRows; parses: jest.SpiedFunction<MerchantRows['parsed']> }[]> {
  return reader.merchantsAfter(after, 1000, (merchant) => ({ merchant, parses: jest.spyOn(merchant, 'parsed') }));
}

const ofParsed = (merchant: MerchantRows): object => {
  const snapshot = merchant.parsed() as MerchantSnapshot;
  const { merchantId, version } = snapshot;
  return { merchantId, version, text: compactSnapshotText(snapshot), buckets: bucketsInAdvance(snapshot) };
};

it('texts that are put together are those of merchants that are parsed, with their buckets', async () => {
  const texts = new MerchantTexts();
  const all = await counted(null);
  expect(all).toHaveLength(3 * (KINDS.length + 4));
  // What was seen once is parsed; what was seen twice is kept.
  for (let turn = 0; turn < 2; turn++) for (const { merchant } of all) texts.of(merchant, 'compact');
  const mustBeParsed: string[] = [];
  for (const { merchant, parses } of all) {
    const { merchantId } = merchant;
    parses.mockClear();
    const ready = texts.of(merchant, 'compact');
    if (parses.mock.calls.length > 0) mustBeParsed.push(merchantId);
    if ('unreadable' in ready) continue;
    expect(ready).toEqual(ofParsed(merchant));
    const snapshot = (await reader.snapshot(merchantId))!;
    const read = parseMerchantSnapshot(ready.text, merchantId) as { value: MerchantSnapshot };
    expect({ ...read.value, rules: byId(read.value) }).toEqual({ ...snapshot, rules: byId(snapshot) });
  }
  expect(mustBeParsed.sort()).toEqual(['broken-1', 'broken-2', 'broken-3', 'overridden-1']);
});

const byId = ({ rules: own }: MerchantSnapshot): unknown[] => [...own].sort((a, b) => Number(a.id) - Number(b.id));

it('a merchant that was never seen is written from what others like it have', async () => {
  const texts = new MerchantTexts();
  const all = await counted(null);
  const [first, second, third] = ['m1-0', 'm2-0', 'm3-0'].map((id) => all.find(({ merchant }) => merchant.merchantId === id)!);
  for (const { merchant } of [first!, second!]) expect(texts.of(merchant, 'compact')).toEqual(ofParsed(merchant));
  const ready = texts.of(third!.merchant, 'compact');
  expect(third!.parses).not.toHaveBeenCalled();
  expect(ready).toEqual(ofParsed(third!.merchant));
});

it('in the usual format every merchant is parsed and written as ever', async () => {
  const texts = new MerchantTexts();
  for (const { merchant } of await counted('m')) {
    const ready = texts.of(merchant, 'usual') as ReadyMerchant;
    if (!('unreadable' in ready)) expect(ready.text).toBe(snapshotText(merchant.parsed() as MerchantSnapshot));
  }
});

it('what is made of a merchant may fail, and the connection is used again', async () => {
  const fail = (): never => {
    throw new Error('not made');
  };
  await expect(reader.merchantsAfter(null, 10, fail)).rejects.toThrow('not made');
  expect(await reader.merchantsAfter(null, 2, ({ merchantId }) => merchantId)).toHaveLength(2);
});

it('a merchant with an implausible version or time zone is left to the parser', async () => {
  const texts = new MerchantTexts();
  await dataSource.query(`UPDATE merchant SET rules_version = 9007199254740993 WHERE id = 'without-1'`);
  await dataSource.query(`UPDATE merchant SET time_zone = 'Mars/Olympus' WHERE id = 'without-2'`);
  const without = await reader.merchantsAfter('without-', 3, (merchant) => 'unreadable' in texts.of(merchant, 'compact'));
  expect(without).toEqual([true, true, false]);
});
