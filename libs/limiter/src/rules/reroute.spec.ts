import { FakeClock, ruleOf } from '../../testing/index.js';
import { MemoryBucketStore } from '../stores/memory-bucket-store.js';
import { merchantRules } from '../matching/merchant-rules.js';
import { NewerRulesError } from '../stores/ports.js';
import { RateLimiter } from '../rate-limiter.js';
import { rerouted, rerouteOf } from './reroute.js';
import type { Rule } from './rule.js';
import { storedRule } from './stored-rule.js';
import type { Verdict } from '../verdict.js';

/** With room for one request, unless told otherwise. */
const rule = (id: string, fields: Parameters<typeof ruleOf>[1] = {}): Rule => ruleOf(id, { capacity: 1, ...fields });

const slow = { onLimit: { reroute: 'slow' } } as const;
const PENALTY = { refusals: 2, windowMs: 60_000, blockMs: 60_000 };

/** What a merchant with these rules gets for so many requests at once. */
async function verdicts(rules: readonly Rule[], requests: number): Promise<Verdict[]> {
  const clock = new FakeClock();
  const limiter = new RateLimiter(new MemoryBucketStore(clock.now), new MemoryBucketStore(clock.now));
  const compiled = merchantRules('acme', rules, []);
  const all: Verdict[] = [];
  for (let i = 0; i < requests; i++) {
    const outcome = await new Promise<Verdict | NewerRulesError>((resolve) =>
      limiter.check(compiled, { merchantId: 'acme', ip: '192.0.2.1', method: 'GET', target: '/' }, resolve),
    );
    if (outcome instanceof NewerRulesError) throw outcome;
    all.push(outcome);
  }
  return all;
}

const routesOf = async (rules: readonly Rule[], requests: number) => (await verdicts(rules, requests)).map(rerouteOf);

it.each<[string, readonly Rule[], (string | undefined)[]]>([
  ['a request within its limits stays', [rule('1', slow)], [undefined]],
  ['a request over its limit goes where the rule says', [rule('1', slow)], [undefined, 'slow', 'slow']],
  ['without the field it is refused', [rule('1')], [undefined, undefined]],
  ['null means that it is refused', [rule('1', { onLimit: null })], [undefined, undefined]],
  ['of two rules that refuse, one without the field refuses', [rule('1', slow), rule('2', { layer: 'platform' })], [undefined, undefined]],
  [
    'a rule that lets the request pass sends it nowhere',
    [rule('1', slow), rule('2', { layer: 'platform', capacity: 5 })],
    [undefined, 'slow'],
  ],
  [
    'of two that reroute the first layer says where',
    [rule('1', slow), rule('2', { layer: 'platform', onLimit: { reroute: 'slower' } })],
    [undefined, 'slower'],
  ],
  ['a request that costs more than the limit ever holds is refused', [rule('1', { ...slow, cost: 2 })], [undefined]],
  [
    'a block refuses, and so does the request with which it begins',
    [rule('1', { ...slow, penalty: PENALTY })],
    [undefined, 'slow', undefined, undefined],
  ],
])('%s', async (_what, rules, expected) => {
  expect(await routesOf(rules, expected.length)).toEqual(expected);
});

it('a request that is rerouted takes nothing, and passes', async () => {
  const [, over] = await verdicts([rule('1', slow)], 2);
  const verdict = rerouted(over!, 'slow');
  expect(verdict).toMatchObject({ allowed: true, reason: 'rerouted', reroutedTo: 'slow', reservations: [], waitMs: 0 });
  expect(verdict.limits[0]!.decision).toMatchObject({ allowed: false, remaining: 0 });
});

it('a stored rule keeps where it reroutes, and nothing else of it', () => {
  const stored = { ...rule('1', slow), onLimit: { ...slow.onLimit } };
  expect(storedRule(structuredClone(stored)).onLimit).toEqual({ reroute: 'slow' });
  expect(storedRule({ ...stored, onLimit: null })).not.toHaveProperty('onLimit');
  expect(() => storedRule({ ...stored, onLimit: { reroute: 7 } })).toThrow(/onLimit/);
});
