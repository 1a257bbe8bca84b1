import { jest } from '@jest/globals';
import * as fc from 'fast-check';
import { ruleOf, runs } from '../../testing/index.js';
import { AskedRequest } from './asked-request.js';
import type { Descriptor } from './descriptor.js';
import type { EffectiveMode } from './enforced-share.js';
import { merchantRules, type MerchantRules } from './merchant-rules.js';
import type { OverridePeriod, RuleOverrides } from '../rules/override.js';
import type { Rule } from '../rules/rule.js';
import { mismatchOf, type RuleLayer } from './rule-matcher.js';
import { RuleTemplate } from './rule-template.js';

const descriptorOf = (target: string, method = 'GET', ignorePathCase = false): Descriptor => ({
  merchantId: 'acme',
  ip: '10.0.0.1',
  method,
  target,
  ignorePathCase,
});

/** What is asked one rule after the other, as it is written: the first that fits. */
function firstOfAll(layer: RuleLayer, mode: EffectiveMode, request: AskedRequest): string | undefined {
  const rules = mode === 'enforce' ? layer.enforced : layer.shadow;
  const fits = (template: RuleTemplate, method: string) =>
    mismatchOf(template, method, request) === undefined && template.modeFor(request.descriptor) === mode;
  const namesHead = rules.some((template) => template.rule.match.methods.includes('HEAD') && fits(template, 'HEAD'));
  const method = request.method === 'HEAD' && !namesHead ? 'GET' : request.method;
  return rules.find((template) => fits(template, method))?.rule.id;
}

const chosenBySearch = ({ layers }: MerchantRules, descriptor: Descriptor, mode: EffectiveMode) =>
  layers.map((layer) => firstOfAll(layer, mode, new AskedRequest(descriptor, 0))).filter((id) => id !== undefined);

const segment = fc.constantFrom('a', 'b', 'C', 'pay-1', 'x%2Fy');
const pattern = fc
  .array(fc.oneof(segment, fc.constantFrom('*', 'pay-*', 'a*')), { maxLength: 3 })
  .chain((segments) => fc.constantFrom(segments, [...segments, '**'], ['**', ...segments]))
  .map((segments) => `/${segments.join('/')}`);
const target = fc
  .array(fc.oneof(segment, fc.constantFrom('c', 'A', 'pay-22', 'other')), { maxLength: 4 })
  .map((segments) => `/${segments.join('/')}`);

const ruleFields = fc.record({
  layer: fc.constantFrom('merchant' as const, 'merchant' as const, 'user' as const),
  priority: fc.integer({ min: 1, max: 3 }),
  mode: fc.constantFrom('enforce' as const, 'enforce' as const, 'shadow' as const, { enforcePercent: 50 }),
  methods: fc.uniqueArray(fc.constantFrom('GET', 'POST', 'HEAD'), { maxLength: 2 }),
  paths: fc.array(pattern, { maxLength: 3 }),
});

const ruleLists = fc.record({
  own: fc.array(ruleFields, { maxLength: 30 }),
  plan: fc.array(ruleFields, { maxLength: 15 }),
  defaults: fc.array(ruleFields, { maxLength: 15 }),
});

const rulesOf = (
  fields: readonly Omit<Parameters<typeof ruleOf>[1] & { methods: string[]; paths: string[] }, 'match'>[],
  firstId: number,
): Rule[] => fields.map(({ methods, paths, ...rest }, i) => ruleOf(String(firstId + i), { ...rest, match: { methods, paths } }));

const DOUBLED: OverridePeriod = {
  id: '1',
  number: 1,
  multiply: 2,
  fromMs: 0,
  untilMs: 1e15,
  deleted: false,
  before: [{ limitId: 0, generation: 0, override: 0 }],
};

const requests = fc.array(fc.tuple(target, fc.constantFrom('GET', 'POST', 'HEAD', 'OPTIONS', 'PURGE')), { minLength: 1, maxLength: 12 });

test('the rules that are found by the path are those that a search finds, whoever owns them and whatever is overridden', () => {
  let chosen = 0;
  fc.assert(
    fc.property(ruleLists, requests, fc.boolean(), fc.boolean(), (lists, asked, ignoreCase, isOverridden) => {
      const own = rulesOf(lists.own, 100);
      const overrides: RuleOverrides[] = isOverridden ? own.slice(0, 3).map(({ id }) => ({ ruleId: id, periods: [DOUBLED] })) : [];
      const rules = merchantRules('acme', own, rulesOf(lists.defaults, 300), {
        plan: rulesOf(lists.plan, 200),
        overrides,
        time: { atMs: 1000 },
      });
      for (const [path, method] of asked) {
        const descriptor = descriptorOf(path, method, ignoreCase);
        const found = rules.choose(descriptor);
        expect(found.enforced.map(({ rule }) => rule.id)).toEqual(chosenBySearch(rules, descriptor, 'enforce'));
        expect(found.shadow.map(({ rule }) => rule.id)).toEqual(chosenBySearch(rules, descriptor, 'shadow'));
        chosen += found.enforced.length;
      }
    }),
    runs(150),
  );
  expect(chosen).toBeGreaterThan(300);
});

test('a request in the other case than the first one finds its rules as well', () => {
  const rules = merchantRules(
    'acme',
    rulesAt(20, (i) => `/Way-${i}/**`),
    [],
  );
  const ids = (path: string, ignoreCase: boolean) =>
    rules.choose(descriptorOf(path, 'GET', ignoreCase)).enforced.map(({ rule }) => rule.id);
  expect(ids('/Way-7/x', false)).toEqual(['7']);
  expect(ids('/way-7/y', true)).toEqual(['7']);
  expect(ids('/way-7/z', false)).toEqual([]);
});

const rulesAt = (count: number, path: (i: number) => string): Rule[] =>
  Array.from({ length: count }, (_, i) => ruleOf(String(i), { match: { methods: ['GET'], paths: [path(i)] } }));

/** How many rules were asked whether they concern the path of a request. */
function asked(rules: MerchantRules, path: string): number {
  const concerns = jest.spyOn(RuleTemplate.prototype, 'concerns');
  rules.choose(descriptorOf(path));
  const { length } = concerns.mock.calls;
  concerns.mockRestore();
  return length;
}

test.each([1, 10, 100, 1000])('of %d rules of a merchant few are asked about a request', (count) => {
  const rules = merchantRules(
    'acme',
    rulesAt(count, (i) => `/v1/way-${i}/*/capture`),
    [ruleOf('9999', { priority: 1 })],
  );
  expect(asked(rules, `/v1/way-${count - 1}/7/capture`)).toBeLessThanOrEqual(8);
  expect(asked(rules, '/v2/other')).toBeLessThanOrEqual(8);
});

test('what finds default rules is made once for all merchants', () => {
  const defaults = rulesAt(100, (i) => `/v1/way-${i}`);
  const [one, other] = [merchantRules('one', [ruleOf('5000')], defaults), merchantRules('other', [ruleOf('5001')], defaults)];
  const paths = jest.spyOn(Map.prototype, 'set');
  one.choose(descriptorOf('/v1/way-1'));
  const forTheFirst = paths.mock.calls.length;
  other.choose(descriptorOf('/v1/way-1'));
  const forTheSecond = paths.mock.calls.length - forTheFirst;
  paths.mockRestore();
  expect(forTheFirst).toBeGreaterThan(100);
  expect(forTheSecond).toBeLessThan(10);
});
