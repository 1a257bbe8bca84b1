import * as fc from 'fast-check';
import { ruleOf } from '../../testing/index.js';
import { explainChoice } from './explain.js';
import { merchantRules } from './merchant-rules.js';
import { LAYERS, type Rule } from '../rules/rule.js';

const rule = (id: number, changes: Partial<Rule> = {}): Rule => ruleOf(String(id), changes);

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

  it('names the part of a rule that failed: a time, or the field of a condition with both values', () => {
    const schedule = { weekly: [{ days: ['mon' as const], from: '01:00', to: '06:00' }] };
    const web = { field: 'header.x-channel', equals: 'web' };
    const own = [
      rule(1, { validFrom: '2027-01-01T00:00:00Z' }),
      rule(2, { validTo: '2026-01-01T00:00:00Z' }),
      rule(3, { schedule }),
      rule(4, { match: { methods: [], paths: [], all: [{ field: 'ip', startsWith: '192.' }, web] } }),
      rule(5, { match: { methods: [], paths: [], all: [{ not: { field: 'cookie.session', absent: true } }] } }),
      rule(6, { mode: { enforcePercent: 0 } }),
    ];
    const more = { headerValues: (name: string) => (name === 'x-channel' ? ['x'.repeat(5_000)] : []), hostName: undefined };
    const sunday = Date.parse('2026-11-22T12:00:00Z');
    const [layer] = explainChoice(merchantRules('acme', own, []), { ...asked('GET', '/'), more }, [], () => sunday);
    expect(layer!.considered.map(({ rule: { id }, mode, why }) => [id, mode, why && [why.code, why.field, why.expected, why.got]])).toEqual(
      [
        ['1', 'enforce', ['not_valid_yet', 'validFrom', '2027-01-01T00:00:00Z', '2026-11-22T12:00:00.000Z']],
        ['2', 'enforce', ['no_longer_valid', 'validTo', '2026-01-01T00:00:00Z', '2026-11-22T12:00:00.000Z']],
        ['3', 'enforce', ['outside_schedule', 'schedule', schedule, '2026-11-22T12:00:00.000Z']],
        ['4', 'enforce', ['condition_failed', 'header.x-channel', { equals: 'web' }, `${'x'.repeat(200)}…`]],
        ['5', 'enforce', ['condition_failed', 'cookie.session', { not: { absent: true } }, null]],
        ['6', 'shadow', null],
      ],
    );
  });

  it('chooses what a request has to obey, whatever the rules', () => {
    const anyRule = fc.record({
      layer: fc.constantFrom(...LAYERS),
      priority: fc.integer({ min: 0, max: 3 }),
      enabled: fc.boolean(),
      mode: fc.constantFrom('enforce' as const, 'shadow' as const, { enforcePercent: 50 }),
      validTo: fc.constantFrom(null, '2026-01-01T00:00:00Z', '2027-01-01T00:00:00Z'),
      all: fc.constantFrom([], [{ field: 'query.q', equals: '1' }], [{ field: 'ip', startsWith: '10.' }]),
      methods: fc.subarray(['GET', 'HEAD', 'POST']),
      paths: fc.subarray(['/a', '/a/*', '/**', '/b']),
    });
    const ruleOf = ({ methods, paths, all, ...changes }: Rule['match'] & Partial<Rule>, i: number) =>
      rule(i + 1, { ...changes, match: { methods, paths, all: all! } });
    const now = () => Date.parse('2026-11-22T12:00:00Z');
    fc.assert(
      fc.property(
        fc.array(anyRule, { maxLength: 8 }),
        fc.nat(8),
        fc.constantFrom('GET', 'HEAD', 'POST', 'PUT'),
        fc.constantFrom('/a', '/a/x', '/b?q=1', '/c'),
        (specs, owned, method, target) => {
          const all = specs.map(ruleOf);
          const rules = merchantRules('acme', all.slice(0, owned), all.slice(owned));
          const { enforced, shadow } = rules.choose(asked(method, target), now);
          const chosen = explainChoice(rules, asked(method, target), [], now).flatMap(({ considered }) =>
            considered.filter((each) => each.chosen).map((each) => each.rule.id),
          );
          expect(chosen.sort()).toEqual([...enforced, ...shadow].map((each) => each.rule.id).sort());
        },
      ),
      { numRuns: 500 },
    );
  });
});
