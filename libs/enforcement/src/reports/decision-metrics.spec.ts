import type { LimitReport, Rule, RuleOrigin, Verdict } from '#limiter';
import { ruleOf } from '#limiter/testing';
import { Registry } from 'prom-client';
import { DecisionMetrics } from './decision-metrics.js';

const rule = (id: string, layer: Rule['layer']): Rule => ruleOf(id, { layer });
const LIMITS = rule('1', 'merchant').limits;

const report = (id: string, layer: Rule['layer'], origin: RuleOrigin, remaining: number, allowed = true): LimitReport => ({
  ruleId: id,
  rule: rule(id, layer),
  origin,
  limit: LIMITS[0]!,
  cost: 1,
  decision: { allowed, limit: 10, remaining, retryAfterMs: allowed ? 0 : 1000, resetAfterMs: 1000 },
});

const PASSED: Verdict = {
  allowed: true,
  reason: 'allowed',
  source: 'store',
  retryAfterMs: 0,
  waitMs: 0,
  limits: [report('1', 'platform', 'default', 5), report('2', 'merchant', 'own', 1)],
  shadowRefusals: 1,
  shadow: [{ ruleId: '3', refused: true }],
  usedSpare: false,
  beganBlock: false,
  reservations: [],
};

const REFUSED: Verdict = {
  ...PASSED,
  allowed: false,
  reason: 'over_limit',
  source: 'memory',
  limits: [report('1', 'platform', 'default', 1), report('2', 'merchant', 'own', 0, false)],
  shadow: [],
  shadowRefusals: 0,
};

async function shown(registry: Registry, name: string): Promise<string[]> {
  const text = await registry.getSingleMetricAsString(name);
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

test('decisions are counted by reason and source, and what each chosen rule said by layer and origin', async () => {
  const registry = new Registry();
  const metrics = new DecisionMetrics(registry);
  metrics.count(PASSED);
  metrics.count(REFUSED);
  metrics.count(REFUSED);
  metrics.countReason('no_identity');
  expect(await shown(registry, 'tollgate_decisions_total')).toEqual([
    'tollgate_decisions_total{reason="allowed",source="store"} 1',
    'tollgate_decisions_total{reason="over_limit",source="memory"} 2',
    'tollgate_decisions_total{reason="no_identity",source="none"} 1',
  ]);
  expect(await shown(registry, 'tollgate_layer_decisions_total')).toEqual([
    'tollgate_layer_decisions_total{layer="platform",origin="default",reason="allowed"} 1',
    'tollgate_layer_decisions_total{layer="platform",origin="default",reason="other_rule"} 2',
    'tollgate_layer_decisions_total{layer="merchant",origin="own",reason="allowed"} 1',
    'tollgate_layer_decisions_total{layer="merchant",origin="own",reason="over_limit"} 2',
  ]);
});

test('a request that passes and leaves a tenth of a limit is near it; one that is refused is not', async () => {
  const registry = new Registry();
  const metrics = new DecisionMetrics(registry);
  metrics.count(PASSED);
  metrics.count(REFUSED);
  expect(await shown(registry, 'tollgate_near_limit_total')).toEqual([
    'tollgate_near_limit_total{layer="platform"} 0',
    'tollgate_near_limit_total{layer="network"} 0',
    'tollgate_near_limit_total{layer="merchant"} 1',
    'tollgate_near_limit_total{layer="user"} 0',
  ]);
});

test('a penalty refuses in the name of its rule, where no limit does', async () => {
  const registry = new Registry();
  const blocked = report('2', 'merchant', 'own', 5);
  const penalty = { refusals: 3, windowMs: 1000, blockMs: 1000 };
  const limits = [report('1', 'platform', 'default', 5), { ...blocked, rule: { ...blocked.rule, penalty } }];
  new DecisionMetrics(registry).count({ ...REFUSED, reason: 'blocked', limits });
  expect(await shown(registry, 'tollgate_layer_decisions_total')).toEqual([
    'tollgate_layer_decisions_total{layer="platform",origin="default",reason="other_rule"} 1',
    'tollgate_layer_decisions_total{layer="merchant",origin="own",reason="blocked"} 1',
  ]);
});

test('only rules that an operator asks for are counted by their ids', async () => {
  const registry = new Registry();
  const metrics = new DecisionMetrics(registry, ['2', '3']);
  metrics.count(PASSED);
  metrics.count(REFUSED);
  expect((await shown(registry, 'tollgate_rule_requests_total')).filter((line) => !line.endsWith(' 0'))).toEqual([
    'tollgate_rule_requests_total{rule="2",outcome="passed"} 1',
    'tollgate_rule_requests_total{rule="2",outcome="near_limit"} 1',
    'tollgate_rule_requests_total{rule="2",outcome="refused"} 1',
    'tollgate_rule_requests_total{rule="3",outcome="shadow_refused"} 1',
  ]);
});
