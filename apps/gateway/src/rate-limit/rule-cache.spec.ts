import type { DefaultRulesSnapshot, MerchantRules, MerchantSnapshot } from '#limiter';
import { RuleCache, type ColdReader } from './rule-cache.js';
import { RulesUnavailableError } from './rule-source.js';

/** Rules as they would come from Redis or PostgreSQL, in the hands of the test. */
class Cold implements ColdReader {
  reads = 0;
  merchants = new Map<string, MerchantSnapshot>();
  defaults: DefaultRulesSnapshot = { version: 1, rules: [] };
  fails = false;
  /** Runs after the state was read and before it is answered. */
  meanwhile: () => void = () => {};

  async read(merchantId: string): Promise<MerchantSnapshot | null> {
    this.reads++;
    if (this.fails) throw new RulesUnavailableError('away');
    const snapshot = this.merchants.get(merchantId) ?? null;
    await Promise.resolve();
    this.meanwhile();
    return snapshot;
  }

  async readDefaultRules(): Promise<DefaultRulesSnapshot> {
    if (this.fails) throw new RulesUnavailableError('away');
    return this.defaults;
  }

  put(merchantId: string, version: number, priority: number): void {
    this.merchants.set(merchantId, { merchantId, version, exists: true, timeZone: 'Etc/UTC', rules: [ruleOf(priority)] });
  }
}

const ruleOf = (priority: number) => ({
  id: '1', name: 'r', layer: 'merchant' as const, priority, enabled: true, mode: 'enforce' as const, match: { methods: [], paths: [] },
  key: ['merchant' as const], limits: [], cost: 1, onStoreFailure: 'local' as const,
});

/** The priority of the first rule tells which version of the rules is in use. */
const inUse = (rules: unknown) => (rules as MerchantRules).layers[0]?.enforced[0]?.rule.priority;

function create(options: { defaultForUnknown?: boolean; maxMerchants?: number } = {}) {
  const cold = new Cold();
  cold.put('acme', 1, 1);
  return { cold, cache: new RuleCache({ cold, defaultForUnknown: false, ...options }) };
}

test('requests for one merchant share one read, and later ones need none', async () => {
  const { cold, cache } = create();
  expect(cache.get('acme')).toBeUndefined();
  await Promise.all([cache.load('acme'), cache.load('acme'), cache.load('acme')]);
  expect(cold.reads).toBe(1);
  expect(inUse(cache.get('acme'))).toBe(1);
});

test('a change makes the next request read again', async () => {
  const { cold, cache } = create();
  await cache.load('acme');
  cold.put('acme', 2, 2);
  expect(inUse(cache.get('acme'))).toBe(1);
  cache.changed('acme');
  expect(cache.get('acme')).toBeUndefined();
  expect(inUse(await cache.load('acme'))).toBe(2);
});

test('a change that comes while the rules are read is not missed', async () => {
  const { cold, cache } = create();
  cold.meanwhile = () => {
    cold.put('acme', 2, 2);
    cache.changed('acme');
    cold.meanwhile = () => {};
  };
  await cache.load('acme');
  expect(cache.get('acme')).toBeUndefined();
  expect(inUse(await cache.load('acme'))).toBe(2);
});

test('an outdated read does not replace newer rules', async () => {
  const { cold, cache } = create();
  cold.put('acme', 5, 5);
  await cache.load('acme');
  cold.put('acme', 4, 4);
  cache.changed('acme');
  expect(inUse(await cache.load('acme'))).toBe(5);
});

test('while nothing can be read the old rules go on', async () => {
  const { cold, cache } = create();
  await cache.load('acme');
  cache.changed('acme');
  cache.changed(null);
  cold.fails = true;
  expect(inUse(await cache.load('acme'))).toBe(1);
  await expect(cache.load('other')).rejects.toBeInstanceOf(RulesUnavailableError);
  expect(inUse(cache.lastKnown('acme'))).toBe(1);
});

test('unknown merchants are remembered, and found when they are created', async () => {
  const { cold, cache } = create();
  expect(await cache.load('new')).toBe('unknown_merchant');
  expect(cache.get('new')).toBe('unknown_merchant');
  cold.put('new', 1, 1);
  cache.changedSome((id) => id === 'new', false);
  expect(inUse(await cache.load('new'))).toBe(1);
});

test('default rules reach merchants that are already known', async () => {
  const { cold, cache } = create({ defaultForUnknown: true });
  await cache.load('stranger');
  cold.defaults = { version: 2, rules: [ruleOf(7)] };
  cache.changedSome(() => false, true);
  expect(cache.get('stranger')).toBeUndefined();
  expect(inUse(await cache.load('stranger'))).toBe(7);
});

test('the number of merchants is bounded', async () => {
  const { cache } = create({ maxMerchants: 2 });
  for (const id of ['a', 'b', 'c', 'd']) await cache.load(id);
  expect(cache.size).toBe(2);
  expect(cache.get('d')).toBe('unknown_merchant');
  expect(cache.get('a')).toBeUndefined();
});

test('the merchants that came first can be told, those that do not exist left out', async () => {
  const { cold, cache } = create();
  for (const id of ['b', 'c']) cold.put(id, 1, 1);
  for (const id of ['b', 'nobody', 'acme', 'c', 'b']) await cache.load(id);
  expect(cache.firstMerchants(2)).toEqual(['b', 'acme']);
  expect(cache.firstMerchants(10)).toEqual(['b', 'acme', 'c']);
});
