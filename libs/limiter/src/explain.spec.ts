import * as fc from 'fast-check';
import { burst } from '../testing/index.js';
import { explainChoice } from './explain.js';
import { startLimits } from './limit-edit.js';
import { merchantRules } from './merchant-rules.js';
import { LAYERS, type Rule } from './rule.js';

const LIMITS = startLimits([burst()], 0);

function rule(id: number, changes: Partial<Rule> = {}): Rule {
  return {
    id: String(id),
    name: `rule ${id}`,
    layer: 'merchant',
    priority: 100,
    enabled: true,
    mode: 'enforce',
    match: { methods: [], paths: [] },
    key: ['merchant'],
    limits: LIMITS,
    cost: 1,
    onStoreFailure: 'closed',
    ...changes,
  };
}

const asked = (method: string, target: string) => ({ merchantId: 'acme', ip: '192.0.2.1', method, target });

describe('an explanation', () => {
  it('names the first condition of each rule that failed, with what it wants and what there was', () => {
    const own = [
      rule(1, { match: { methods: ['POST'], paths: ['/transactions/**'] } }),
      rule(2, { priority: 50 }),
      rule(3, { match: { methods: ['GET'], paths: ['/reports'] } }),
      rule(4, { mode: 'shadow' }),
    ];
    const off = rule(5, { enabled: false });
    const defaults = [rule(6, { priority: 100 }), rule(7, { layer: 'platform' })];
    const explained = explainChoice(merchantRules('acme', own, defaults), asked('GET', '/transactions/1'), [
      { rule: off, source: 'merchant' },
    ]);
    expect(
      explained.map(({ layer, considered }) => [
        layer,
        considered.map(({ rule: { id }, source, matched, chosen, why }) => [
          id,
          source,
          matched,
          chosen,
          why && [why.code, why.expected, why.got],
        ]),
      ]),
    ).toEqual([
      ['platform', [['7', 'default', true, true, null]]],
      [
        'merchant',
        [
          ['1', 'merchant', false, false, ['method_differs', ['POST'], 'GET']],
          ['3', 'merchant', false, false, ['path_differs', ['/reports'], '/transactions/1']],
          ['6', 'default', true, true, null],
          ['2', 'merchant', true, false, ['displaced', 'more than 100, the priority of rule 6', 50]],
          ['4', 'merchant', true, true, null],
          ['5', 'merchant', false, false, ['disabled', true, false]],
        ],
      ],
    ]);
  });

  it('takes HEAD for GET where no rule that concerns the path names HEAD', () => {
    const rules = merchantRules('acme', [rule(1, { match: { methods: ['GET'], paths: [] } })], []);
    expect(explainChoice(rules, asked('HEAD', '/'))[0]?.considered[0]).toMatchObject({ matched: true, chosen: true });
  });

  it('chooses what a request has to obey, whatever the rules', () => {
    const anyRule = fc.record({
      layer: fc.constantFrom(...LAYERS),
      priority: fc.integer({ min: 0, max: 3 }),
      enabled: fc.boolean(),
      mode: fc.constantFrom('enforce' as const, 'shadow' as const),
      methods: fc.subarray(['GET', 'HEAD', 'POST']),
      paths: fc.subarray(['/a', '/a/*', '/**', '/b']),
    });
    const ruleOf = ({ methods, paths, ...changes }: { methods: string[]; paths: string[] } & Partial<Rule>, i: number) =>
      rule(i + 1, { ...changes, match: { methods, paths } });
    fc.assert(
      fc.property(
        fc.array(anyRule, { maxLength: 8 }),
        fc.nat(8),
        fc.constantFrom('GET', 'HEAD', 'POST', 'PUT'),
        fc.constantFrom('/a', '/a/x', '/b', '/c'),
        (specs, owned, method, target) => {
          const all = specs.map(ruleOf);
          const rules = merchantRules('acme', all.slice(0, owned), all.slice(owned));
          const { enforced, shadow } = rules.choose(asked(method, target));
          const chosen = explainChoice(rules, asked(method, target)).flatMap(({ considered }) =>
            considered.filter((each) => each.chosen).map((each) => each.rule.id),
          );
          expect(chosen.sort()).toEqual([...enforced, ...shadow].map((each) => each.rule.id).sort());
        },
      ),
      { numRuns: 500 },
    );
  });
});
