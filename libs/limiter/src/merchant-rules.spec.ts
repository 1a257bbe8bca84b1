import * as fc from 'fast-check';
import { ruleOf, startedLimit } from '../testing/index.js';
import type { LimitSpec } from './limit.js';
import { merchantRules, type MerchantRules } from './merchant-rules.js';
import type { Rule } from './rule.js';

const BURST: LimitSpec = {
  name: 'burst',
  algorithm: 'token_bucket',
  capacity: 10,
  refillTokens: 1,
  refillIntervalMs: 1000,
  refill: 'greedy',
};
const DAILY: LimitSpec = { name: 'a day', algorithm: 'fixed_window', limit: 5, calendar: 'day', start: 'clock' };
const DAILY_IN_TOKYO: LimitSpec = { ...DAILY, timeZone: 'Asia/Tokyo' };

const rule = (id: string, fields: Partial<Rule> = {}, spec: LimitSpec = BURST): Rule =>
  ruleOf(id, { limits: [startedLimit(spec, 0)], ...fields });

const choose = (rules: MerchantRules, target = '/') =>
  rules.choose({ merchantId: rules.merchantId, ip: '', method: 'GET', target }).enforced;

test('merchants without own rules share everything that was compiled', () => {
  const defaults = [rule('1'), rule('2', { layer: 'platform' }), rule('3', { mode: 'shadow' }), rule('4', { enabled: false })];
  const [one, other] = [
    merchantRules('one', [], defaults, { timeZone: 'Europe/Berlin' }),
    merchantRules('other', [rule('5', { enabled: false })], defaults, { timeZone: 'Asia/Tokyo' }),
  ];
  expect(one.layers).toHaveLength(2);
  one.layers.forEach((layer, i) => {
    expect(layer.enforced[0]).toBe(other.layers[i]!.enforced[0]);
    expect(layer.shadow[0]).toBe(other.layers[i]!.shadow[0]);
  });
  expect(merchantRules('third', [], defaults).layers).toBe(one.layers);
});

test('own rules stand between the default ones, which are not compiled again', () => {
  const defaults = [rule('1', { priority: 9 }), rule('2', { priority: 1 }), rule('3', { layer: 'user' })];
  const [none, some] = [
    merchantRules('none', [], defaults),
    merchantRules('some', [rule('4', { priority: 5 }), rule('5', { priority: 1 })], defaults),
  ];
  expect(some.layers[0]!.enforced.map((each) => each.rule.id)).toEqual(['1', '4', '5', '2']);
  expect(some.layers[0]!.enforced[0]).toBe(none.layers[0]!.enforced[0]);
  expect(some.layers[1]).toBe(none.layers[1]);
});

test('merchants that share a rule do not share buckets', () => {
  const defaults = [rule('1')];
  const takes = ['one', 'other'].map((id) => merchantRules(id, [], defaults).takes());
  expect(takes.map(([take]) => take!.key)).toEqual(['{one}1.0', '{other}1.0']);
  expect(takes[0]![0]).not.toBe(takes[1]![0]);
  expect(takes[0]![0]!.bucket).toBe(takes[1]![0]!.bucket);
});

test('what a merchant asks is made when it is first asked, and once', () => {
  const rules = merchantRules('acme', [], [rule('1', { priority: 200, match: { methods: [], paths: ['/seldom'] } }), rule('2')]);
  expect(rules.takesMade).toBe(0);
  const [first] = choose(rules);
  expect(rules.takesMade).toBe(1);
  expect(choose(rules, '/other')[0]).toBe(first);
  expect(rules.takesMade).toBe(1);
  expect(choose(rules, '/seldom')[0]!.rule.id).toBe('1');
  expect(rules.takesMade).toBe(2);
});

test('a rule whose buckets depend on the request keeps nothing for the merchant', () => {
  const rules = merchantRules('acme', [], [rule('1', { key: ['merchant', 'ip'] })]);
  expect(choose(rules)[0]!.takes).toBeUndefined();
  expect(rules.takesMade).toBe(0);
  expect(rules.takes()).toEqual([]);
});

test('rules of a plan are compiled once for all of its merchants, also beside own rules', () => {
  const [plan, defaults] = [[rule('1'), rule('2', { mode: 'shadow' })], [rule('3')]];
  const [one, other, own] = [
    merchantRules('one', [], defaults, { plan, timeZone: 'Europe/Berlin' }),
    merchantRules('other', [], defaults, { plan, timeZone: 'Asia/Tokyo' }),
    merchantRules('own', [rule('4')], defaults, { plan }),
  ];
  expect(other.layers).toBe(one.layers);
  expect(own.layers[0]!.enforced.map((each) => each.rule.id)).toEqual(['4', '1', '3']);
  expect(own.layers[0]!.enforced[1]).toBe(one.layers[0]!.enforced[0]);
  // The default rules are those that merchants without a plan have.
  expect(one.layers[0]!.enforced[1]).toBe(merchantRules('without', [], defaults).layers[0]!.enforced[0]);
});

test('an edit of the default rules compiles no rule of a plan again', () => {
  const plan = [rule('1')];
  const before = merchantRules('acme', [], [rule('2')], { plan }).layers[0]!.enforced;
  const after = merchantRules('acme', [], [rule('3')], { plan }).layers[0]!.enforced;
  expect(after.map((each) => each.rule.id)).toEqual(['1', '3']);
  expect(after[0]).toBe(before[0]);
});

test('a plan without rules changes nothing', () => {
  const defaults = [rule('1')];
  expect(merchantRules('one', [], defaults, { plan: [] }).layers).toBe(merchantRules('other', [], defaults).layers);
});

test('merchants of one plan do not share buckets', () => {
  const plan = [rule('1')];
  const keys = ['one', 'other'].map((id) => merchantRules(id, [], [], { plan }).takes()[0]!.key);
  expect(keys).toEqual(['{one}1.0', '{other}1.0']);
});

describe('the order of a layer', () => {
  const chosenOf = (own: Rule[], plan: Rule[], defaults: Rule[]) =>
    merchantRules('acme', own, defaults, { plan }).layers[0]!.enforced.map((each) => each.rule.id);

  test.each<[string, Rule[], Rule[], Rule[], string[]]>([
    ['on a tie own before plan, plan before default', [rule('30')], [rule('20')], [rule('10')], ['30', '20', '10']],
    ['a higher priority before everything', [rule('1')], [rule('2', { priority: 101 })], [rule('3', { priority: 102 })], ['3', '2', '1']],
    [
      'of the same source the older first',
      [rule('12'), rule('9')],
      [rule('8'), rule('7')],
      [rule('6'), rule('5')],
      ['9', '12', '7', '8', '5', '6'],
    ],
  ])('%s', (_title, own, plan, defaults, order) => expect(chosenOf(own, plan, defaults)).toEqual(order));

  test('is that of one sort over everything, whatever the rules are', () => {
    const rules = fc.array(fc.record({ priority: fc.integer({ min: 0, max: 3 }), source: fc.constantFrom('own', 'plan', 'default') }), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(rules, (drawn) => {
        const all = drawn.map(({ priority, source }, i) => ({ priority, source, id: String(i + 1) }));
        const of = (source: string) => all.filter((each) => each.source === source).map(({ id, priority }) => rule(id, { priority }));
        const expected = [...all].sort(
          (a, b) =>
            b.priority - a.priority ||
            ['own', 'plan', 'default'].indexOf(a.source) - ['own', 'plan', 'default'].indexOf(b.source) ||
            Number(a.id) - Number(b.id),
        );
        const { layers } = merchantRules('acme', of('own'), of('default'), { plan: of('plan') });
        expect((layers[0]?.enforced ?? []).map((each) => each.rule.id)).toEqual(expected.map(({ id }) => id));
      }),
    );
  });
});

describe('the time zone of the merchant', () => {
  /** Where the day of a merchant begins that contains noon in UTC. */
  const startOfDay = (defaults: Rule[], timeZone: string) => {
    const { bucket } = merchantRules('acme', [], defaults, { timeZone }).takes()[0]!;
    return bucket.kind === 'fixed_window'
      ? new Date(bucket.windows.around(Date.UTC(2026, 5, 2, 12) * 1000).startUs / 1000).toISOString()
      : undefined;
  };

  test('counts for default rules that follow the calendar', () => {
    const defaults = [rule('1', {}, DAILY)];
    expect(startOfDay(defaults, 'Europe/Berlin')).toBe('2026-06-01T22:00:00.000Z');
    expect(startOfDay(defaults, 'Asia/Tokyo')).toBe('2026-06-01T15:00:00.000Z');
    expect(startOfDay(defaults, 'Europe/Berlin')).toBe('2026-06-01T22:00:00.000Z');
  });

  test('counts for rules of a plan that follow the calendar, and only for those', () => {
    const [plan, defaults] = [[rule('1', {}, DAILY)], [rule('2', { layer: 'user' })]];
    const enforced = (timeZone: string) =>
      merchantRules('acme', [], defaults, { plan, timeZone }).layers.map((layer) => layer.enforced[0]!);
    const [berlin, tokyo] = [enforced('Europe/Berlin'), enforced('Asia/Tokyo')];
    expect(berlin[0]).not.toBe(tokyo[0]);
    expect(berlin[1]).toBe(tokyo[1]);
    expect(enforced('Europe/Berlin')[0]).toBe(berlin[0]);
  });

  test('makes no second set of rules where it makes no difference', () => {
    const defaults = [rule('1'), rule('2', { layer: 'user' }, DAILY_IN_TOKYO)];
    expect(merchantRules('a', [], defaults, { timeZone: 'Europe/Berlin' }).layers).toBe(
      merchantRules('b', [], defaults, { timeZone: 'America/New_York' }).layers,
    );
  });

  test('counts for a limit that followed the calendar before an edit', () => {
    const { name: _name, ...past } = DAILY;
    const defaults = [
      {
        ...rule('1'),
        limits: [{ ...startedLimit(BURST, 0), generation: 1, previous: [{ ...past, generation: 0, since: { atMs: 0, tokens: 5 } }] }],
      },
    ];
    const zones = ['Europe/Berlin', 'Asia/Tokyo'].map(
      (zone) => merchantRules('acme', [], defaults, { timeZone: zone }).takes()[0]!.bucket.timeZone,
    );
    expect(zones).toEqual(['Europe/Berlin', 'Asia/Tokyo']);
  });
});

describe('a rule that looks at more than the method and the path', () => {
  const GENERAL = rule('1', { priority: 1 });
  const ask = (rules: MerchantRules, headers: Record<string, string> = {}, nowMs = 0) => {
    const more = { headerValues: (name: string) => (name in headers ? [headers[name]!] : []), hostName: undefined };
    return rules.choose({ merchantId: 'acme', ip: '', method: 'GET', target: '/', more }, () => nowMs).enforced.map((each) => each.rule.id);
  };

  test('is chosen by each request anew', () => {
    const all = [{ field: 'header.x-channel', equals: 'web' }];
    const rules = merchantRules('acme', [GENERAL, rule('2', { match: { methods: [], paths: [], all } })], []);
    expect([ask(rules), ask(rules, { 'x-channel': 'web' }), ask(rules)]).toEqual([['1'], ['2'], ['1']]);
  });

  test('begins and ends by itself, also when the clock steps back', () => {
    const validFrom = new Date(5_000).toISOString();
    const rules = merchantRules('acme', [GENERAL], [rule('2', { validFrom })]);
    expect([ask(rules, {}, 4_999), ask(rules, {}, 5_000), ask(rules, {}, 4_999)]).toEqual([['1'], ['2'], ['1']]);
  });

  test('follows the time zone of each merchant, as a default rule', () => {
    const schedule = { weekly: [{ days: ['thu' as const], from: '00:00', to: '09:00' }] };
    const defaults = [GENERAL, rule('2', { schedule })];
    const at = Date.parse('1970-01-01T08:30:00Z');
    expect(['Etc/UTC', 'Asia/Tokyo'].map((timeZone) => ask(merchantRules('acme', [], defaults, { timeZone }), {}, at))).toEqual([
      ['2'],
      ['1'],
    ]);
  });

  test('is enforced for its share of bucket keys, and stands in the shadow of the others', () => {
    const rules = (enforcePercent: number) => merchantRules('acme', [GENERAL, rule('2', { mode: { enforcePercent } })], []);
    const chosen = (enforcePercent: number) => {
      const { enforced, shadow } = rules(enforcePercent).choose({ merchantId: 'acme', ip: '', method: 'GET', target: '/' });
      return [enforced.map((each) => each.rule.id), shadow.map((each) => each.rule.id)];
    };
    expect([chosen(0), chosen(100)]).toEqual([
      [['1'], ['2']],
      [['2'], []],
    ]);
    expect(rules(50).takes()).toHaveLength(2);
  });

  test('asks for no header, query or cookie that no rule looks at', () => {
    const rules = merchantRules('acme', [GENERAL], []);
    const more = {
      headerValues: (): never => {
        throw new Error('nobody looks at headers');
      },
      get hostName(): never {
        throw new Error('nobody looks at the host');
      },
    };
    expect(rules.choose({ merchantId: 'acme', ip: '', method: 'GET', target: '/', more }).enforced).toHaveLength(1);
  });
});

test('OPTIONS is charged by a rule that names it, and by no other', () => {
  const named = rule('2', { priority: 1, match: { methods: ['OPTIONS', 'POST'], paths: [] } });
  const chosen = (own: Rule[], method: string) =>
    merchantRules('acme', own, [])
      .choose({ merchantId: 'acme', ip: '', method, target: '/' })
      .enforced.map((each) => each.rule.id);
  expect(chosen([rule('1')], 'OPTIONS')).toEqual([]);
  expect(chosen([rule('1', { priority: 9 }), named], 'OPTIONS')).toEqual(['2']);
  expect(['GET', 'HEAD', 'POST', 'PURGE'].map((method) => chosen([rule('1')], method))).toEqual([['1'], ['1'], ['1'], ['1']]);
});
