import { ruleOf } from '../../testing/index.js';
import { bodyOfText, NO_BODY, unreadableBody } from '../body/json-body.js';
import { compiledCharge } from './charge.js';
import type { Condition } from '../conditions/condition.js';
import type { AnswerFacts, Descriptor } from '../matching/descriptor.js';
import { startLimits } from '../limits/limit-edit.js';
import { MemoryBucketStore } from '../stores/memory-bucket-store.js';
import { merchantRules } from '../matching/merchant-rules.js';
import { RateLimiter } from '../rate-limiter.js';
import type { Rule } from './rule.js';
import type { Verdict } from '../verdict.js';

const FAILED: Condition = {
  any: [
    { field: 'response.status', from: 400, to: 499 },
    { field: 'response.header.x-outcome', equals: 'declined' },
  ],
};

const answer = (status: number, outcome?: string, body?: AnswerFacts['body']): AnswerFacts => ({
  head: { status, headerValues: (name) => (name === 'x-outcome' && outcome !== undefined ? [outcome] : []) },
  body,
});

describe('what was reserved', () => {
  const stays = (when: Condition, facts: AnswerFacts) => compiledCharge({ on: 'response', when })!.stays(facts);
  const declined: Condition = { field: 'response.body.status', equals: 'declined' };

  it.each<[string, Condition, AnswerFacts, boolean]>([
    ['the answer is one that is charged', FAILED, answer(402), true],
    ['a header says so', FAILED, answer(200, 'declined'), true],
    ['the answer is none of them', FAILED, answer(201, 'approved'), false],
    ['there is no answer, so that nobody knows', FAILED, {}, true],
    ['the body says so', declined, answer(200, undefined, bodyOfText('{"status":"declined"}')), true],
    ['the body says otherwise', declined, answer(200, undefined, bodyOfText('{"status":"approved"}')), false],
    ['there is no body', declined, answer(204, undefined, NO_BODY), false],
    ['the body cannot be read', declined, answer(200, undefined, unreadableBody('encoded')), true],
    [
      'the body cannot be read, and not what it says is charged',
      { not: declined },
      answer(200, undefined, unreadableBody('too_large')),
      true,
    ],
    ['the status decides, whatever the body is', { all: [declined, { field: 'response.status', equals: 200 }] }, answer(500), false],
  ])('stays taken or comes back where %s', (_where, when, facts, expected) => expect(stays(when, facts)).toBe(expected));
});

const LIMIT = { name: 'a day', algorithm: 'fixed_window', limit: 5, calendar: 'day', start: 'clock' } as const;
const rule = (changes: Partial<Rule> = {}): Rule =>
  ruleOf('1', { limits: startLimits([LIMIT], 0), charge: { on: 'response', when: FAILED }, ...changes });

function limiter(rules: readonly Rule[]) {
  const store = new MemoryBucketStore(() => 0);
  const limits = new RateLimiter(store, store, { nowMs: () => 0 });
  const compiled = merchantRules('shop', rules, []);
  return (changes: Partial<Descriptor> = {}): Verdict => {
    let verdict: Verdict | undefined;
    limits.check(
      compiled,
      { merchantId: 'shop', ip: '', method: 'POST', target: '/', ...changes },
      (outcome) => (verdict = outcome as Verdict),
    );
    return verdict!;
  };
}

const settle = ({ reservations }: Verdict, facts?: AnswerFacts) => reservations.forEach((each) => each.release(facts));

test('with a thousand at once, five failed payments a day never become six', () => {
  const check = limiter([rule()]);
  // A linear congruential generator: the same order each time.
  let state = 17;
  const random = () => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
  const open: Verdict[] = [];
  let failed = 0;
  let passed = 0;
  for (let i = 0; i < 20_000; i++) {
    if (open.length < 1_000 && random() < 0.9) {
      const verdict = check();
      if (verdict.allowed) open.push(verdict);
    }
    if (open.length > 0 && random() < 0.3) {
      const [verdict] = open.splice(Math.floor(random() * open.length), 1);
      const fails = random() < 0.01;
      if (fails) failed++;
      else passed++;
      settle(verdict!, answer(fails ? 402 : 200));
    }
  }
  expect(failed).toBe(5);
  expect(passed).toBeGreaterThan(100);
  expect(check().allowed).toBe(false);
});

test('only the rules that wait for the answer give back, and only once', () => {
  const check = limiter([rule(), rule({ id: '2', layer: 'platform', charge: null })]);
  const verdict = check();
  settle(verdict, answer(200));
  settle(verdict, answer(200));
  const remaining = new Map(check().limits.map(({ ruleId, decision }) => [ruleId, decision.remaining]));
  expect(remaining).toEqual(
    new Map([
      ['2', 3],
      ['1', 4],
    ]),
  );
});

test('a request whose answer nobody knows stays charged', () => {
  const check = limiter([rule()]);
  for (let i = 0; i < 5; i++) settle(check());
  expect(check()).toMatchObject({ allowed: false, reason: 'over_limit' });
});

test('slots that a request holds are free after it, whatever is charged', () => {
  const slots = startLimits([{ name: 'at once', algorithm: 'concurrency', limit: 1, slotTimeoutMs: 60_000 }], 0);
  const check = limiter([rule({ limits: slots })]);
  for (const facts of [answer(402), answer(200), undefined]) {
    const verdict = check();
    expect([verdict.allowed, check().allowed]).toEqual([true, false]);
    settle(verdict, facts);
  }
});
