import * as fc from 'fast-check';
import { completed } from '../fields/field-faults.js';
import { startLimits } from '../limits/limit-edit.js';
import { merchantRules } from '../matching/merchant-rules.js';
import { MODES } from '../rules/rule-mode.js';
import type { RuleOrigin } from '../rules/rule-origin.js';
import { LAYERS, RULE_FIELDS, type Rule, type RuleSpec } from '../rules/rule.js';
import { shadowingOf, shadowWarnings } from './shadowing.js';

const LIMIT = { name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1_000 };

function rule(id: number, changes: object = {}): Rule {
  const spec = completed({ name: `rule ${id}`, limits: [LIMIT], ...changes }, RULE_FIELDS) as unknown as RuleSpec;
  return { ...spec, id: String(id), ...changes, limits: startLimits(spec.limits, 0) } as Rule;
}

const match = (methods: string[], ...paths: string[]) => ({ match: { methods, paths } });
const codesOf = (id: number, own: Rule[], defaults: Rule[] = []) =>
  shadowWarnings(merchantRules('acme', own, defaults).layers, String(id)).map(({ code }) => code);

describe('a rule is warned about', () => {
  it.each<[string, Rule[], Rule[], string[]]>([
    ['that a wider one of higher priority shadows', [rule(1, match([], '/a/*')), rule(2, { priority: 500 })], [], ['rule.shadowed']],
    ['that a default rule of higher priority shadows', [rule(1)], [rule(2, { priority: 500 })], ['rule.shadowed']],
    ['that shadows another one of its owner', [rule(1, { priority: 500 }), rule(2, match(['POST']))], [], ['rule.shadows']],
    [
      'whose match another one has at the same priority',
      [rule(1, match(['GET', 'PUT'])), rule(2, match(['PUT', 'GET']))],
      [],
      ['rule.match.repeated'],
    ],
    [
      'that is older and wider than another one of the same priority',
      [rule(1, match(['GET', 'PUT'])), rule(3, match(['PUT']))],
      [],
      ['rule.shadows'],
    ],
  ])('%s', (_what, own, defaults, codes) => expect(codesOf(1, own, defaults)).toEqual(codes));
});

describe('a rule is not warned about', () => {
  it.each<[string, Rule[], Rule[]]>([
    ['that a default rule would shadow, were it asked first', [rule(1)], [rule(2)]],
    ['that shadows a default rule: so a merchant is treated otherwise than all', [rule(1, { priority: 500 })], [rule(2)]],
    ['that stands in another layer', [rule(1), rule(2, { priority: 500, layer: 'platform' })], []],
    ['that is in another mode', [rule(1), rule(2, { priority: 500, mode: 'shadow' })], []],
    ['that a rule which is switched off would shadow', [rule(1), rule(2, { priority: 500, enabled: false })], []],
    ['that is switched off', [rule(1, { enabled: false }), rule(2, { priority: 500 })], []],
    [
      'that others only shadow together',
      [rule(1), rule(2, { priority: 500, ...match([], '/a') }), rule(3, { priority: 500, ...match([], '/b') })],
      [],
    ],
    [
      'for HEAD, which a rule for GET does not match beside it',
      [rule(1, match(['HEAD'])), rule(2, { priority: 500, ...match(['GET']) })],
      [],
    ],
    [
      'that a rule with a further condition leaves something to',
      [rule(1), rule(2, { priority: 500, match: { methods: [], paths: [], all: [{ field: 'country', equals: 'DE' }] } })],
      [],
    ],
    ['that a rule leaves something to which ends', [rule(1), rule(2, { priority: 500, validTo: '2030-01-01T00:00:00Z' })], []],
  ])('%s', (_what, own, defaults) => expect(codesOf(1, own, defaults)).toEqual([]));
});

it('the same further condition is no difference', () => {
  const all = [{ field: 'country', equals: 'DE' }];
  const own = [
    rule(1, { match: { methods: ['GET'], paths: [], all } }),
    rule(2, { priority: 500, match: { methods: [], paths: [], all } }),
  ];
  expect(codesOf(1, own)).toEqual(['rule.shadowed']);
});

it('a rule of the plan warns like one of another owner, and is named so', () => {
  const rulesOf = (own: Rule[], plan: Rule[]) => merchantRules('acme', own, [], { plan }).layers;
  expect(shadowWarnings(rulesOf([rule(1, { priority: 500 })], [rule(2)]), '1')).toEqual([]);
  expect(shadowWarnings(rulesOf([rule(1)], [rule(2, { priority: 500 })]), '1')).toMatchObject([
    { code: 'rule.shadowed', detail: expect.stringContaining('rule of the plan 2, "rule 2"') as string },
  ]);
  expect(shadowWarnings(rulesOf([], [rule(1), rule(2)]), '1')).toMatchObject([{ code: 'rule.match.repeated' }]);
});

it('the warning names the rule that is in the way, and how many more', () => {
  const own = [rule(1), rule(2, { priority: 500 }), rule(3, { priority: 600 })];
  expect(shadowWarnings(merchantRules('acme', own, []).layers, '1')).toEqual([
    {
      code: 'rule.shadowed',
      pointer: '/priority',
      detail: 'is never asked: rule 3, "rule 3", priority 600 (and 1 more) comes first and matches every request that this rule matches',
    },
  ]);
});

const METHODS = ['GET', 'HEAD', 'POST', 'OPTIONS'];
const rules = fc.array(
  fc.record({
    layer: fc.constantFrom(...LAYERS.slice(1, 3)),
    mode: fc.constantFrom(...MODES, ...MODES, ...MODES, { enforcePercent: 50 }),
    priority: fc.integer({ min: 0, max: 2 }),
    enabled: fc.constantFrom(true, true, true, false),
    match: fc.record({
      methods: fc.uniqueArray(fc.constantFrom(...METHODS), { maxLength: 2 }),
      paths: fc.uniqueArray(fc.constantFrom('/**', '/a', '/a/*', '/a/**', '/a/b', '/*', '/A', '/a*/**', '/**/b'), { maxLength: 2 }),
    }),
    source: fc.constantFrom('own' as const, 'plan' as const, 'default' as const),
  }),
  { minLength: 2, maxLength: 6 },
);
const requests = METHODS.flatMap((method) =>
  ['/', '/a', '/b', '/a/b', '/a/c', '/ab', '/ab/c/b', '/A'].map((target) => ({ method, target })),
);

it('a rule that is said to be shadowed is never chosen, whatever is asked', () => {
  let warned = 0;
  fc.assert(
    fc.property(rules, fc.boolean(), (specs, ignorePathCase) => {
      const all = specs.map(({ source, ...spec }, i) => ({ source, rule: rule(i + 1, spec) }));
      const of = (wanted: RuleOrigin) => all.filter(({ source }) => source === wanted).map((each) => each.rule);
      const compiled = merchantRules('acme', of('own'), of('default'), { plan: of('plan') });
      const chosen = new Set(
        requests.flatMap((request) => {
          const { enforced, shadow } = compiled.choose({ merchantId: 'acme', ip: '', ignorePathCase, ...request });
          return [...enforced, ...shadow].map((each) => each.rule.id);
        }),
      );
      for (const { rule: each } of all) {
        const { shadowedBy, shadows } = shadowingOf(compiled.layers, each.id);
        const never = [...(shadowedBy.length > 0 ? [each.id] : []), ...shadows.map((other) => other.rule.id)];
        warned += never.length;
        expect(never.filter((id) => chosen.has(id))).toEqual([]);
      }
    }),
    { numRuns: 300 },
  );
  expect(warned).toBeGreaterThan(30);
});
