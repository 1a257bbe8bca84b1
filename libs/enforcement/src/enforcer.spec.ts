import type { Descriptor, MerchantSnapshot } from '#limiter';
import { ruleOf } from '#limiter/testing';
import { Registry } from 'prom-client';
import { Enforcer } from './enforcer.js';
import type { EnforcerOptions } from './enforcer-options.js';
import { isVerdict, type Outcome } from './outcome.js';
import type { RuleSourceConnection } from './rules/rule-source.js';

/** Nobody listens there, so that each rule acts by its onStoreFailure. */
const NO_REDIS = 'redis://127.0.0.1:1';

const RULE = ruleOf('1', { capacity: 2, refillIntervalMs: 3_600_000 });

const ACME: MerchantSnapshot = { merchantId: 'acme', version: 1, exists: true, timeZone: 'Etc/UTC', rules: [RULE] };

const of = (merchantId: string): Descriptor => ({ merchantId, ip: '192.0.2.7', method: 'GET', target: '/' });

const opened: Enforcer[] = [];

async function open(source: Partial<RuleSourceConnection> = {}, options: Partial<EnforcerOptions> = {}) {
  const registry = new Registry();
  const enforcer = new Enforcer({
    redisUrl: NO_REDIS,
    ruleSource: {
      connect: () => Promise.resolve(),
      snapshot: (merchantId) => Promise.resolve(merchantId === 'acme' ? ACME : null),
      defaultRules: () => Promise.resolve({ version: 1, rules: [] }),
      plan: () => Promise.resolve(null),
      close: () => Promise.resolve(),
      ...source,
    },
    logger: { info: () => {}, warn: () => {} },
    registry,
    storeTimeoutMs: 1000,
    ...options,
  });
  opened.push(enforcer);
  await enforcer.open();
  const check = (descriptor: Descriptor): Promise<Outcome> => new Promise((resolve) => enforcer.check(descriptor, resolve));
  return { enforcer, registry, check };
}

afterEach(async () => {
  for (const enforcer of opened.splice(0)) await enforcer.close();
});

test('a merchant without Redis is limited by the rules of the rule source, in this process', async () => {
  const { check, registry } = await open();
  const outcomes = [await check(of('acme')), await check(of('acme')), await check(of('acme'))];
  expect(outcomes.map(({ allowed, reason }) => [allowed, reason])).toEqual([
    [true, 'allowed'],
    [true, 'allowed'],
    [false, 'over_limit'],
  ]);
  expect(outcomes.every(isVerdict)).toBe(true);
  expect(await registry.getSingleMetricAsString('tollgate_decisions_total')).toMatch(
    /reason="allowed",source="local"} 2\n.*reason="over_limit",source="local"} 1/,
  );
});

test('a merchant that nobody created gets no verdict, or the default rules if they are for unknown merchants', async () => {
  expect(await (await open()).check(of('nobody'))).toEqual({ allowed: false, reason: 'unknown_merchant' });
  const { check } = await open({}, { defaultForUnknown: true });
  expect(await check(of('nobody'))).toMatchObject({ allowed: true, reason: 'no_matching_rule' });
});

test('a flood of unknown ids is answered without asking the rule source about each', async () => {
  let reads = 0;
  const { check } = await open(
    { snapshot: () => Promise.resolve(void reads++).then(() => null) },
    { unknownLookupsPerSecond: 1, unknownLookupsPerPeer: 1 },
  );
  const outcomes = await Promise.all(Array.from({ length: 500 }, (_, i) => check(of(`nobody ${i}`))));
  const refused = outcomes.filter(({ reason }) => reason === 'too_many_unknown').length;
  expect(refused).toBe(500 - reads);
  expect(reads).toBeLessThan(50);
});

test('a merchant whose plan cannot be read is not let through by the rest of its rules', async () => {
  const snapshot = () => Promise.resolve({ ...ACME, plan: 'pro' });
  const fails = await open({ snapshot, plan: () => Promise.reject(new Error('away')) });
  expect(await fails.check(of('acme'))).toEqual({ allowed: false, reason: 'rules_unavailable' });
  const none = await open({ snapshot, plan: () => Promise.resolve(null) });
  expect(await none.check(of('acme'))).toEqual({ allowed: false, reason: 'rules_unavailable' });
  const there = await open({ snapshot, plan: () => Promise.resolve({ plan: 'pro', version: 1, exists: true, rules: [] }) });
  expect(await there.check(of('acme'))).toMatchObject({ allowed: true });
});

test('without Redis and without a rule source there is no verdict, and the enforcer says that it has no rules', async () => {
  const fails = () => Promise.reject(new Error('away'));
  const { check, enforcer } = await open({ snapshot: fails, defaultRules: fails });
  expect(await check(of('acme'))).toEqual({ allowed: false, reason: 'rules_unavailable' });
  expect(enforcer.assertRulesRead).toThrow('the default rules have not been read yet');
});
