import fc from 'fast-check';
import { LAYERS, type Rule } from './rule.js';
import { refusesNothing, storedSwitches, switchedRules, type Switch } from './switches.js';

const ruleIn = (layer: Rule['layer'], id: string) => ({ id, layer, mode: 'enforce' }) as unknown as Rule;
const RULES: readonly Rule[] = LAYERS.map((layer, i) => ruleIn(layer, String(i)));
const on = (changes: Partial<Switch> = {}): Switch => ({ name: 'kill', layer: null, merchantId: null, untilMs: null, ...changes });

const arbitrarySwitch = fc.record({
  name: fc.constantFrom('kill' as const, 'shadow' as const),
  layer: fc.option(fc.constantFrom(...LAYERS)),
  merchantId: fc.option(fc.constantFrom('acme', 'globex')),
  untilMs: fc.constant(null),
});

test('a rule is left out if a kill concerns it, in shadow if only a shadow does, and itself otherwise', () => {
  fc.assert(
    fc.property(fc.array(arbitrarySwitch, { maxLength: 5 }), fc.constantFrom('acme', 'globex', 'initech'), (switches, merchantId) => {
      const concerns = ({ layer }: Rule, name: Switch['name']) =>
        switches.some((each) => each.name === name && (each.layer ?? layer) === layer && (each.merchantId ?? merchantId) === merchantId);
      const expected = RULES.filter((rule) => !concerns(rule, 'kill')).map((rule) =>
        concerns(rule, 'shadow') ? { ...rule, mode: 'shadow' } : rule,
      );
      expect(switchedRules(RULES, switches, merchantId)).toEqual(expected);
    }),
  );
});

test('a merchant that no switch concerns keeps the very list, and two that the same concern share one', () => {
  expect(switchedRules(RULES, [on({ merchantId: 'acme' })], 'globex')).toBe(RULES);
  const switches = [on({ layer: 'network' })];
  const shared = switchedRules(RULES, switches, 'acme');
  expect(shared).toHaveLength(LAYERS.length - 1);
  expect(switchedRules(RULES, [...switches], 'globex')).toBe(shared);
});

test('only a switch for all layers answers for rules that cannot be read', () => {
  expect(refusesNothing([on()], 'acme')).toBe(true);
  expect(refusesNothing([on({ name: 'shadow', merchantId: 'acme' })], 'acme')).toBe(true);
  expect(refusesNothing([on({ layer: 'user' }), on({ merchantId: 'globex' })], 'acme')).toBe(false);
});

test('stored switches: what a newer version has written is left out, what makes no sense is not believed', () => {
  const one = { name: 'kill', layer: 'network', merchantId: 'acme', untilMs: 5 };
  expect(storedSwitches([one, { ...one, name: 'dim' }, { ...one, layer: 'planet' }])).toEqual([one]);
  expect(storedSwitches(undefined)).toEqual([]);
  for (const odd of [{}, 'x', [null], [{ ...one, merchantId: '' }], [{ ...one, untilMs: '5' }], Array.from({ length: 101 }, () => one)])
    expect(() => storedSwitches(odd)).toThrow('switches');
});
