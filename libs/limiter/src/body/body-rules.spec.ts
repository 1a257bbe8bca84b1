import type { Condition } from '../conditions/condition.js';
import type { Descriptor } from '../matching/descriptor.js';
import { explainChoice } from '../matching/explain.js';
import { bucketKey } from '../buckets/bucket-key.js';
import { startLimits } from '../limits/limit-edit.js';
import { MemoryBucketStore } from '../stores/memory-bucket-store.js';
import { merchantRules } from '../matching/merchant-rules.js';
import { RateLimiter } from '../rate-limiter.js';
import type { Rule } from '../rules/rule.js';
import type { Verdict } from '../verdict.js';
import { type BodyFacts, bodyOfText, NO_BODY, unreadableBody } from './json-body.js';

const BURST = {
  name: 'burst',
  algorithm: 'token_bucket',
  capacity: 1_000,
  refillTokens: 1,
  refillIntervalMs: 3_600_000,
  refill: 'greedy',
} as const;
const rule = ({ all = [] as readonly Condition[], ...changes }: Partial<Rule> & { all?: readonly Condition[] } = {}): Rule => ({
  id: '1',
  name: 'payments',
  layer: 'merchant',
  priority: 1,
  enabled: true,
  mode: 'enforce',
  match: { methods: ['POST'], paths: ['/payments'], all },
  key: ['merchant'],
  limits: startLimits([BURST], 0),
  cost: 1,
  onStoreFailure: 'local',
  ...changes,
});

const posted = (body: BodyFacts | undefined, changes: Partial<Descriptor> = {}): Descriptor => ({
  merchantId: 'shop',
  ip: '',
  method: 'POST',
  target: '/payments',
  more: { headerValues: (name) => (name === 'x-country' ? ['NO'] : []), hostName: undefined, body, readBody: () => undefined },
  ...changes,
});

function check(rules: readonly Rule[], descriptor: Descriptor): Verdict {
  const store = new MemoryBucketStore(() => 0);
  let verdict: Verdict | undefined;
  new RateLimiter(store, store).check(merchantRules('shop', rules, []), descriptor, (outcome) => (verdict = outcome as Verdict));
  return verdict!;
}

const LARGE: Condition = { field: 'body.amount', atLeast: 100 };

test.each<[string, Rule, Partial<Descriptor>, boolean]>([
  ['a rule that looks at the body', rule({ all: [LARGE] }), {}, true],
  ['one deep in its conditions', rule({ all: [{ any: [{ not: LARGE }] }] }), {}, true],
  ['a key', rule({ key: ['merchant', 'body.account'] }), {}, true],
  ['a cost', rule({ cost: { field: 'body.amount', max: 5 } }), {}, true],
  ['a rule that refuses what cannot be read', rule({ onUnreadableBody: 'refuse' }), {}, true],
  ['a shadow', rule({ all: [LARGE], mode: 'shadow' }), {}, true],
  ['a rule of another path', rule({ all: [LARGE] }), { target: '/other' }, false],
  ['a rule of another method', rule({ all: [LARGE] }), { method: 'PUT' }, false],
  ['a rule that is not enabled', rule({ all: [LARGE], enabled: false }), {}, false],
  ['a rule that looks at headers only', rule({ all: [{ field: 'header.x', equals: 'y' }] }), {}, false],
])('the body is read, or not, for %s', (_what, written, changes, expected) => {
  const rules = merchantRules('shop', [written], []);
  const limiter = new RateLimiter(new MemoryBucketStore(() => 0), new MemoryBucketStore(() => 0));
  expect(limiter.needsBody(rules, posted(undefined, changes))).toBe(expected);
  // Once is enough.
  expect(limiter.needsBody(rules, posted(NO_BODY, changes))).toBe(false);
});

test.each<[string, BodyFacts, boolean]>([
  ['100.00', bodyOfText('{"amount":100.00}'), true],
  ['99.999999999999999999', bodyOfText('{"amount":99.999999999999999999}'), false],
  ['1e400', bodyOfText('{"amount":1e400}'), true],
  ['1 and 100', bodyOfText('{"amount":1,"amount":100}'), true],
  ['nothing', NO_BODY, false],
  ['what cannot be read', unreadableBody('too_large'), false],
])('a rule for large payments concerns an amount of %s, or not', (_amount, body, expected) => {
  expect(check([rule({ all: [LARGE] })], posted(body)).limits.length > 0).toBe(expected);
});

test('values that look alike and are different have buckets of their own, and spellings of one value share one', () => {
  const keyOf = (body: string) => bucketKey(rule({ key: ['merchant', 'body.a'] }), 0, posted(bodyOfText(body)));
  const bodies = [
    '{}',
    '{"a":"7"}',
    '{"a":7}',
    '{"a":"true"}',
    '{"a":true}',
    '{"a":""}',
    '{"a":[]}',
    '{"a":{}}',
    '{"a":["7","7"]}',
    '{"a":["7",7]}',
  ];
  expect(new Set(bodies.map(keyOf)).size).toBe(bodies.length);
  expect(new Set(['{"a":7}', '{"a":7.0}', '{"a":70e-1}', '{"a":[7]}'].map(keyOf)).size).toBe(1);
  expect(keyOf('{"a":"secret"}')).not.toContain('secret');
});

describe('a body that cannot be read', () => {
  const unreadable = posted(unreadableBody('broken'));
  const country = (value: string): Condition => ({ field: 'header.x-country', equals: value });
  const refuse = { onUnreadableBody: 'refuse' } as const;

  it.each<[string, readonly Rule[], boolean]>([
    ['by a rule that its content may concern', [rule({ ...refuse, all: [LARGE] })], true],
    ['by a rule that its content may not concern', [rule({ ...refuse, all: [{ not: LARGE }] })], true],
    ['because of the key', [rule({ ...refuse, key: ['body.a'] })], true],
    ['not where something else says that the rule does not apply', [rule({ ...refuse, all: [country('SE'), LARGE] })], false],
    [
      'not where one of several conditions holds anyway, and then only because the rule says so',
      [rule({ ...refuse, all: [{ any: [country('NO'), LARGE] }] })],
      true,
    ],
    ['not by a rule that takes its fields for absent', [rule({ all: [LARGE] })], false],
    ['not by a shadow', [rule({ ...refuse, all: [LARGE], mode: 'shadow' })], false],
    ['not by a rule that another one certainly displaces', [rule({ ...refuse, all: [LARGE] }), rule({ id: '2', priority: 2 })], false],
    [
      'by a rule that another one displaces only perhaps',
      [rule({ ...refuse }), rule({ id: '2', priority: 2, all: [{ not: LARGE }] })],
      true,
    ],
  ])('is refused, or not: %s', (_why, rules, refused) => {
    const verdict = check(rules, unreadable);
    expect(verdict.reason === 'unreadable_body').toBe(refused);
    if (refused)
      expect(verdict).toMatchObject({
        allowed: false,
        fault: { rule: { id: '1' }, field: 'body', detail: expect.stringContaining('JSON') as string },
      });
  });

  it('is no body that is absent', () => expect(check([rule({ ...refuse, all: [LARGE] })], posted(NO_BODY)).allowed).toBe(true));
});

describe('a cost that the body says', () => {
  const priced = rule({ cost: { field: 'body.amount', scale: 100, max: 1_000 } });

  it('is taken from each limit', () => {
    const { limits } = check([priced], posted(bodyOfText('{"amount":1.29}')));
    expect(limits).toMatchObject([{ cost: 129, decision: { remaining: 871 } }]);
  });

  it('that is not valid refuses the request and takes nothing', () => {
    expect(check([priced], posted(bodyOfText('{"amount":-1}')))).toMatchObject({
      allowed: false,
      reason: 'invalid_cost',
      limits: [],
      reservations: [],
      fault: { rule: { id: '1' }, field: 'body.amount' },
    });
  });

  it('that is not valid is counted by a shadow, which refuses nothing', () => {
    expect(check([{ ...priced, mode: 'shadow' }], posted(bodyOfText('{"amount":"x"}')))).toMatchObject({
      allowed: true,
      shadowRefusals: 1,
    });
  });
});

test('an explanation says what stands in the body', () => {
  const [layer] = explainChoice(merchantRules('shop', [rule({ all: [LARGE] })], []), posted(bodyOfText('{"amount":5.50}')));
  expect(layer!.considered[0]!.why).toEqual({ code: 'condition_failed', field: 'body.amount', expected: { atLeast: 100 }, got: 5.5 });
});
