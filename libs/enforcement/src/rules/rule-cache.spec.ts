import {
  startLimits,
  type DefaultRulesSnapshot,
  type LimitSpec,
  type MerchantRules,
  type MerchantSnapshot,
  type PlanSnapshot,
  type Rule,
  type RuleOverrides,
} from '#limiter';
import { RuleCache, type ColdReader, type RuleCacheOptions } from './rule-cache.js';
import { RulesUnavailableError } from './rule-source.js';

/** Rules as they would come from Redis or PostgreSQL, in the hands of the test. */
class Cold implements ColdReader {
  reads = 0;
  merchants = new Map<string, MerchantSnapshot>();
  defaults: DefaultRulesSnapshot = { version: 1, rules: [] };
  plans = new Map<string, PlanSnapshot>();
  planReads = 0;
  fails = false;
  plansFail = false;
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

  async readPlan(name: string): Promise<PlanSnapshot | null> {
    this.planReads++;
    if (this.fails || this.plansFail) throw new RulesUnavailableError('away');
    const plan = this.plans.get(name) ?? null;
    await Promise.resolve();
    this.meanwhile();
    return plan;
  }

  /** The rules are in the layer user, so that they stand beside those of merchants. */
  putPlan(plan: string, version: number, priority: number): void {
    this.plans.set(plan, { plan, version, exists: true, rules: [{ ...ruleOf(priority), id: '2', layer: 'user' }] });
  }

  join(merchantId: string, plan: string | undefined, version = 1): void {
    this.merchants.set(merchantId, { merchantId, version, exists: true, timeZone: 'Etc/UTC', rules: [], ...(plan && { plan }) });
  }

  put(merchantId: string, version: number, priority: number): void {
    this.merchants.set(merchantId, { merchantId, version, exists: true, timeZone: 'Etc/UTC', rules: [ruleOf(priority)] });
  }
}

const ruleOf = (priority: number) => ({
  id: '1',
  name: 'r',
  layer: 'merchant' as const,
  priority,
  enabled: true,
  mode: 'enforce' as const,
  match: { methods: [], paths: [] },
  key: ['merchant' as const],
  limits: [],
  cost: 1,
  onStoreFailure: 'local' as const,
});

/** The priority of the first rule tells which version of the rules is in use. */
const inUse = (rules: unknown) => (rules as MerchantRules).layers[0]?.enforced[0]?.rule.priority;

function create(options: Partial<RuleCacheOptions> = {}) {
  const cold = new Cold();
  const clock = { nowMs: 0 };
  cold.put('acme', 1, 1);
  return { cold, clock, cache: new RuleCache({ cold, defaultForUnknown: false, now: () => clock.nowMs, ...options }) };
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

test('known rules stay in force while nothing can be read', async () => {
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

test.each([false, true])(
  'ids that nobody created are bounded, and push out no merchant (by default rules: %s)',
  async (defaultForUnknown) => {
    const { cold, cache } = create({ defaultForUnknown, maxBytes: 100_000, maxUnknownBytes: 10_000 });
    cold.defaults = { version: 1, rules: [ruleOf(1)] };
    await cache.load('acme');
    for (let i = 0; i < 5_000; i++) await cache.load(`nobody-${i}`);
    expect(cache.unknownSize).toBeLessThan(50);
    expect(cache.unknownSize).toBeGreaterThan(5);
    expect(cache.bytes).toBeLessThan(20_000);
    expect(cache.size).toBe(1);
    expect(cache.get('acme')).toBeDefined();
    expect(cache.get('nobody-4999')).toBeDefined();
    expect(cache.get('nobody-0')).toBeUndefined();
  },
);

test('merchants are bounded in bytes; those in use stay', async () => {
  const { cold, cache } = create({ maxBytes: 200_000 });
  for (let i = 0; i < 2_000; i++) {
    cold.put(`m${i}`, 1, 1);
    await cache.load(`m${i}`);
    cache.get('m0');
  }
  expect(cache.bytes).toBeLessThanOrEqual(200_000);
  expect(cache.size).toBeGreaterThan(20);
  expect(cache.get('m0')).toBeDefined();
  expect(cache.get('m1')).toBeUndefined();
  expect(cache.get('m1999')).toBeDefined();
});

test('what requests compile counts in the bytes of a merchant', async () => {
  const { cold, cache } = create();
  cold.defaults = {
    version: 1,
    rules: [
      {
        ...ruleOf(1),
        limits: startLimits(
          [{ name: 'burst', algorithm: 'token_bucket', capacity: 1, refillTokens: 1, refillIntervalMs: 1000, refill: 'greedy' }],
          0,
        ),
      },
    ],
  };
  cold.merchants.set('plain', { merchantId: 'plain', version: 1, exists: true, timeZone: 'Etc/UTC', rules: [] });
  const rules = (await cache.load('plain')) as MerchantRules;
  const before = cache.bytes;
  rules.choose({ merchantId: 'plain', ip: '', method: 'GET', target: '/' });
  cache.get('plain');
  expect(cache.bytes).toBeGreaterThan(before);
});

test('what the only request of an unknown id compiled counts as well', async () => {
  const { cold, cache } = create({ defaultForUnknown: true, maxUnknownBytes: 20_000 });
  const limits = startLimits(
    [{ name: 'burst', algorithm: 'token_bucket', capacity: 1, refillTokens: 1, refillIntervalMs: 1000, refill: 'greedy' }],
    0,
  );
  cold.defaults = { version: 1, rules: [{ ...ruleOf(1), limits }] };
  for (let i = 0; i < 100; i++) {
    const rules = (await cache.load(`once-${i}`)) as MerchantRules;
    rules.choose({ merchantId: `once-${i}`, ip: '', method: 'GET', target: '/' });
  }
  // Of some that are not asked there would be twice as many.
  expect(cache.unknownSize).toBeLessThan(17);
  expect(cache.unknownSize).toBeGreaterThan(5);
});

test('a merchant that is deleted is unknown from then on, and one that is created no longer', async () => {
  const { cold, cache } = create();
  await Promise.all([cache.load('acme'), cache.load('later')]);
  expect([cache.size, cache.unknownSize]).toEqual([1, 1]);
  cold.merchants.delete('acme');
  cold.put('later', 1, 1);
  cache.changedSome(() => true, false);
  await Promise.all([cache.load('acme'), cache.load('later')]);
  expect([cache.get('acme'), inUse(cache.get('later'))]).toEqual(['unknown_merchant', 1]);
  expect([cache.size, cache.unknownSize]).toEqual([1, 1]);
});

test('a change that could not be read is read a second later', async () => {
  const { cold, clock, cache } = create();
  await cache.load('acme');
  cold.put('acme', 2, 2);
  cold.defaults = { version: 2, rules: [{ ...ruleOf(9), layer: 'user' }] };
  cold.fails = true;
  cache.changed('acme');
  cache.changed(null);
  await cache.load('acme');
  // Nobody waits for what was just tried in vain.
  expect(inUse(cache.get('acme'))).toBe(1);
  cold.fails = false;
  clock.nowMs += 1001;
  expect(cache.get('acme')).toBeUndefined();
  expect(inUse(await cache.load('acme'))).toBe(2);
  expect((cache.get('acme') as MerchantRules).layers.map(({ layer }) => layer)).toEqual(['merchant', 'user']);
});

test('a change that only the counters tell is not missed either while a merchant is read', async () => {
  const { cold, cache } = create();
  cold.meanwhile = () => {
    cold.put('acme', 2, 2);
    cache.changedSome((id) => id === 'acme', false);
    cold.meanwhile = () => {};
  };
  await cache.load('acme');
  expect(inUse(await cache.load('acme'))).toBe(2);
});

test('merchants that are read at once are bounded', async () => {
  const { cache } = create({ maxLoading: 3 });
  const outcomes = await Promise.allSettled(['a', 'b', 'c', 'd', 'a'].map((id) => cache.load(id)));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  expect(await cache.load('d')).toBe('unknown_merchant');
});

test('an id that nobody created can only have outdated default rules: it is not looked up again', async () => {
  const { cold, cache } = create({ defaultForUnknown: true });
  await cache.load('stranger');
  const { reads } = cold;
  cold.defaults = { version: 2, rules: [ruleOf(7)] };
  expect(inUse(await cache.reload('stranger'))).toBe(7);
  expect(cold.reads).toBe(reads);
});

test('the merchants that were asked for first are listed, without those that do not exist', async () => {
  const { cold, cache } = create();
  for (const id of ['b', 'c']) cold.put(id, 1, 1);
  for (const id of ['b', 'nobody', 'acme', 'c', 'b']) await cache.load(id);
  expect(cache.firstMerchants(2)).toEqual(['b', 'acme']);
  expect(cache.firstMerchants(10)).toEqual(['b', 'acme', 'c']);
});

describe('a plan', () => {
  function withPlan(options: Partial<RuleCacheOptions> = {}) {
    const created = create(options);
    created.cold.putPlan('pro', 1, 10);
    for (const id of ['a', 'b', 'c']) created.cold.join(id, 'pro');
    return created;
  }

  it('is read once for all of its merchants, and compiled once', async () => {
    const { cold, cache } = withPlan();
    const rules = (await Promise.all(['a', 'b', 'c'].map((id) => cache.load(id)))) as MerchantRules[];
    expect(rules.map(inUse)).toEqual([10, 10, 10]);
    expect(cold.planReads).toBe(1);
    expect(rules[1]!.layers).toBe(rules[0]!.layers);
    expect(cache.planSize).toBe(1);
  });

  it('that changes reaches every merchant by one read, and no merchant is read again', async () => {
    const { cold, cache } = withPlan();
    for (const id of ['a', 'b', 'c']) await cache.load(id);
    const { reads } = cold;
    cold.putPlan('pro', 2, 20);
    cache.plansChanged('pro');
    expect(['a', 'b', 'c'].map((id) => cache.get(id))).toEqual([undefined, undefined, undefined]);
    // The first one reads; those that come meanwhile need not wait, and go by the former rules.
    expect((await Promise.all(['a', 'b'].map((id) => cache.load(id)))).map(inUse)).toEqual([20, 10]);
    expect(['b', 'c'].map((id) => inUse(cache.get(id)))).toEqual([20, 20]);
    expect([cold.planReads, cold.reads]).toEqual([2, reads]);
  });

  it('of another name concerns nobody else', async () => {
    const { cache } = withPlan();
    await cache.load('a');
    cache.plansChanged('free');
    expect(inUse(cache.get('a'))).toBe(10);
    cache.plansChanged(null);
    expect(cache.get('a')).toBeUndefined();
  });

  it('whose change comes while it is read is read again', async () => {
    const { cold, cache } = withPlan();
    await cache.load('acme');
    cold.meanwhile = () => {
      if (cold.planReads === 0) return;
      cold.putPlan('pro', 2, 20);
      cache.plansChanged('pro');
      cold.meanwhile = () => {};
    };
    await cache.load('a');
    expect(cache.get('a')).toBeUndefined();
    expect(inUse(await cache.load('a'))).toBe(20);
  });

  it('that cannot be read lets none of its merchants through by the rest of their rules', async () => {
    const { cold, cache } = withPlan();
    cold.plansFail = true;
    await expect(cache.load('a')).rejects.toBeInstanceOf(RulesUnavailableError);
    expect([cache.get('a'), cache.lastKnown('a')]).toEqual([undefined, undefined]);
    expect(inUse(await cache.load('acme'))).toBe(1);
    cold.plansFail = false;
    expect(inUse(await cache.load('a'))).toBe(10);
  });

  it('that cannot be read again goes on as it was, and is tried a second later', async () => {
    const { cold, clock, cache } = withPlan();
    await cache.load('a');
    cold.putPlan('pro', 2, 20);
    cold.plansFail = true;
    cache.plansChanged('pro');
    expect(inUse(await cache.load('a'))).toBe(10);
    expect(inUse(cache.get('a'))).toBe(10);
    cold.plansFail = false;
    clock.nowMs += 1001;
    expect(cache.get('a')).toBeUndefined();
    expect(inUse(await cache.load('a'))).toBe(20);
  });

  it('to which a merchant changes holds from then on; while it cannot be read the former one does', async () => {
    const { cold, clock, cache } = withPlan();
    await cache.load('a');
    cold.putPlan('free', 1, 5);
    cold.join('a', 'free', 2);
    cold.plansFail = true;
    cache.changed('a');
    expect(inUse(await cache.load('a'))).toBe(10);
    cold.plansFail = false;
    clock.nowMs += 1001;
    expect(inUse(await cache.load('a'))).toBe(5);
    cold.join('a', undefined, 3);
    cache.changed('a');
    expect(inUse(await cache.load('a'))).toBeUndefined();
  });

  it('that is gone makes its merchant be read again, which has left it', async () => {
    const { cold, cache } = withPlan();
    cold.plans.delete('pro');
    const { reads } = cold;
    cold.meanwhile = () => cold.reads > reads && cold.join('a', undefined, 2);
    expect(inUse(await cache.load('a'))).toBeUndefined();
    expect(cold.reads - reads).toBe(2);
    cold.meanwhile = () => {};
    await expect(cache.load('b')).rejects.toBeInstanceOf(RulesUnavailableError);
  });

  it('that is deleted is let go of, with what was compiled of it', async () => {
    const { cold, cache } = withPlan();
    for (const id of ['a', 'b']) await cache.load(id);
    cold.plans.delete('pro');
    for (const id of ['a', 'b']) cold.join(id, undefined, 2);
    cache.plansChanged('pro');
    expect(inUse(await cache.load('a'))).toBeUndefined();
    expect([cache.planSize, cache.get('b')]).toEqual([0, undefined]);
    expect(inUse(await cache.load('b'))).toBeUndefined();
  });

  it('is read anew when a bucket was written under newer rules', async () => {
    const { cold, cache } = withPlan();
    await cache.load('a');
    cold.putPlan('pro', 2, 20);
    expect(inUse(await cache.reload('a'))).toBe(20);
    expect(inUse(cache.get('a'))).toBe(20);
  });

  it('is bounded in bytes with all others, and its merchants are read again when it had to go', async () => {
    const { cold, cache } = withPlan({ maxPlanBytes: 10_000 });
    for (let i = 0; i < 50; i++) {
      cold.putPlan(`plan-${i}`, 1, i + 1);
      cold.join(`m${i}`, `plan-${i}`);
      expect(inUse(await cache.load(`m${i}`))).toBe(i + 1);
    }
    expect(cache.planSize).toBeLessThan(10);
    expect(cache.planSize).toBeGreaterThan(2);
    // Of the merchants only those are left whose plan is.
    expect(cache.size).toBe(cache.planSize);
    expect(inUse(await cache.load('m0'))).toBe(1);
  });

  it('stands between own and default rules, and an edit of those keeps it', async () => {
    const { cold, cache } = withPlan();
    cold.merchants.set('a', { ...cold.merchants.get('a')!, rules: [{ ...ruleOf(10), id: '7', layer: 'user' }] });
    await cache.load('a');
    cold.defaults = { version: 2, rules: [{ ...ruleOf(10), id: '1', layer: 'user' }] };
    cache.changed(null);
    const rules = (await cache.load('a')) as MerchantRules;
    expect(rules.layers[0]!.enforced.map(({ rule, source }) => [rule.id, source])).toEqual([
      ['7', 'own'],
      ['2', 'plan'],
      ['1', 'default'],
    ]);
  });
});

describe('an override', () => {
  const START_MS = 1_800_000_000_000;
  const END_MS = START_MS + 60_000;
  const spec: LimitSpec = { name: 'l', algorithm: 'fixed_window', limit: 10, windowMs: 1000, start: 'clock' };
  const limits = startLimits([spec], START_MS);
  const before = [{ limitId: limits[0]!.id, generation: 0, override: 0 }];
  const period = { id: '7', number: 1, fromMs: START_MS, untilMs: END_MS, deleted: false, before, multiply: 5 };
  const overrides: RuleOverrides[] = [{ ruleId: '1', periods: [period] }];
  const limitInUse = (rules: unknown) => (rules as MerchantRules).layers[0]?.enforced[0]?.rule.limits[0] as { limit: number } | undefined;

  const refused = (cache: RuleCache, atMs: number) => ({ rules: cache.get('acme')!, atUs: atMs * 1000 });

  function overriddenMerchant() {
    const store = { nowMs: START_MS };
    const { cold, cache } = create({ storeNow: () => store.nowMs });
    cold.defaults = { version: 1, rules: [{ ...ruleOf(1), limits } as Rule] };
    cold.merchants.set('acme', { merchantId: 'acme', version: 1, exists: true, timeZone: 'Etc/UTC', rules: [], overrides });
    cold.merchants.set('other', { merchantId: 'other', version: 1, exists: true, timeZone: 'Etc/UTC', rules: [] });
    return { store, cold, cache };
  }

  test('of a default rule changes the numbers of its merchant only, and ends without a read', async () => {
    const { store, cold, cache } = overriddenMerchant();
    expect(limitInUse(await cache.load('acme'))).toMatchObject({ limit: 50 });
    expect(limitInUse(await cache.load('other'))).toMatchObject({ limit: 10 });
    const reads = cold.reads;
    store.nowMs = END_MS - 1;
    const rules = cache.get('acme');
    expect(cache.get('acme')).toBe(rules);
    expect(limitInUse(rules)).toMatchObject({ limit: 50 });
    store.nowMs = END_MS;
    expect(limitInUse(cache.get('acme'))).toMatchObject({ limit: 10 });
    expect(cache.get('acme')).toBe(cache.get('acme'));
    expect(cold.reads).toBe(reads);
  });

  test('whose end the store has seen and this process has not ends by the clock of the store, and the other way round', async () => {
    const { store, cold, cache } = overriddenMerchant();
    await cache.load('acme');
    const reads = cold.reads;
    expect(limitInUse(await cache.reload('acme', undefined, refused(cache, END_MS)))).toMatchObject({ limit: 10 });
    expect(limitInUse(cache.get('acme'))).toMatchObject({ limit: 10 });
    store.nowMs = END_MS;
    expect(limitInUse(await cache.reload('acme', undefined, refused(cache, END_MS - 1)))).toMatchObject({ limit: 50 });
    expect(cold.reads).toBe(reads);
  });

  test('that has ended for a bucket has ended, though the clock of the store stepped back', async () => {
    const { cold, cache } = overriddenMerchant();
    await cache.load('acme');
    // In this phase the bucket is newer, and there are no newer rules.
    expect(limitInUse(await cache.reload('acme', undefined, refused(cache, START_MS)))).toMatchObject({ limit: 10 });
    expect(limitInUse(cache.get('acme'))).toMatchObject({ limit: 10 });
    expect(cold.reads).toBe(2);
    // The next one is known from a newer snapshot.
    const next = { ...period, id: '8', number: 2, fromMs: END_MS, untilMs: END_MS + 1000, multiply: 7 };
    cold.merchants.set('acme', {
      ...cold.merchants.get('acme')!,
      version: 2,
      overrides: [{ ruleId: '1', periods: [period, next] }],
    });
    cache.changed('acme');
    expect(limitInUse(await cache.load('acme'))).toMatchObject({ limit: 70 });
  });

  test('is not taken for ended by a request that was decided by older rules', async () => {
    const { cold, cache } = overriddenMerchant();
    const overridden = cold.merchants.get('acme')!;
    cold.merchants.set('acme', { merchantId: 'acme', version: 0, exists: true, timeZone: 'Etc/UTC', rules: [] });
    await cache.load('acme');
    const asked = refused(cache, START_MS);
    cold.merchants.set('acme', overridden);
    // Both were asked by the same rules, and one of them is told so late that the other has learned of the override.
    expect(limitInUse(await cache.reload('acme', undefined, asked))).toMatchObject({ limit: 50 });
    expect(limitInUse(await cache.reload('acme', undefined, asked))).toMatchObject({ limit: 50 });
    expect(limitInUse(cache.get('acme'))).toMatchObject({ limit: 50 });
  });

  test('of a rule of the plan changes the numbers of its merchant only, ends, and is not taken for ended where the plan is newer', async () => {
    const { store, cold, cache } = overriddenMerchant();
    cold.defaults = { version: 1, rules: [] };
    const plan = { plan: 'pro', version: 1, exists: true, rules: [{ ...ruleOf(1), limits } as Rule] };
    cold.plans.set('pro', plan);
    for (const id of ['acme', 'other']) cold.merchants.set(id, { ...cold.merchants.get(id)!, plan: 'pro' });
    expect(limitInUse(await cache.load('acme'))).toMatchObject({ limit: 50 });
    expect(limitInUse(await cache.load('other'))).toMatchObject({ limit: 10 });
    cold.plans.set('pro', { ...plan, version: 2 });
    expect(limitInUse(await cache.reload('acme', undefined, refused(cache, START_MS)))).toMatchObject({ limit: 50 });
    // Now nothing is newer but the bucket.
    expect(limitInUse(await cache.reload('acme', undefined, refused(cache, START_MS)))).toMatchObject({ limit: 10 });
    store.nowMs = END_MS;
    expect(limitInUse(cache.get('acme'))).toMatchObject({ limit: 10 });
  });

  test('is not taken for ended where the default rules are newer', async () => {
    const { cold, cache } = overriddenMerchant();
    await cache.load('acme');
    cold.defaults = { ...cold.defaults, version: 2 };
    expect(limitInUse(await cache.reload('acme', undefined, refused(cache, START_MS)))).toMatchObject({ limit: 50 });
  });
});

test('rules that only a newer version can read are told, and a closed one of the defaults or of the plan counts for every merchant that has it', async () => {
  const told: string[] = [];
  const { cold, cache } = create({ onNewerRule: ({ id, language }) => void told.push(`${id} in ${language}`) });
  const newer = (id: string) => ({ id, language: 9, onStoreFailure: 'closed' as const, match: { methods: [], paths: ['/own'] } });
  const merchant = { merchantId: 'acme', version: 2, exists: true, timeZone: 'Etc/UTC', rules: [], newerRules: [newer('7')], plan: 'pro' };
  cold.merchants.set('acme', merchant);
  cold.defaults = { version: 1, rules: [], newerRules: [{ ...newer('8'), match: { methods: [], paths: ['/all'] } }] };
  cold.plans.set('pro', {
    plan: 'pro',
    version: 1,
    exists: true,
    rules: [],
    newerRules: [{ ...newer('9'), match: { methods: [], paths: ['/plan'] } }],
  });
  const rules = (await cache.load('acme')) as MerchantRules;
  const closed = ['/own', '/plan', '/all', '/'].map((target) => rules.choose({ merchantId: 'acme', ip: '', method: 'GET', target }).closed);
  expect([closed, told]).toEqual([
    [true, true, true, false],
    ['8 in 9', '9 in 9', '7 in 9'],
  ]);
});
