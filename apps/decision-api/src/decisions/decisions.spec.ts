import { createPathReader, rateLimitHeaders } from '#edge';
import type { Outcome } from '#enforcement';
import type { Descriptor, Reservation, Verdict } from '#limiter';
import { ClaimUnavailableError, Decisions, type DecisionsOptions, PathRefusedError } from './decisions.js';

/** A verdict without limits; what it reserved tells when it is given back. */
function verdict(allowed: boolean, given: string[], name: string): Verdict {
  const reservation = { refund: () => given.push(name) } as unknown as Reservation;
  const common = { source: 'store', waitMs: 0, limits: [], shadowRefusals: 0, shadow: [], usedSpare: false, beganBlock: false } as const;
  return allowed
    ? { ...common, allowed, reason: 'allowed', retryAfterMs: 0, reservations: [reservation] }
    : { ...common, allowed, reason: 'over_limit', retryAfterMs: 5, reservations: [] };
}

function house(outcomeOf: (merchant: string, given: string[]) => Outcome, enforcer: Partial<DecisionsOptions['enforcer']> = {}) {
  const given: string[] = [];
  const asked: string[] = [];
  const decisions = new Decisions({
    enforcer: {
      check: ({ merchantId }: Descriptor, answer) => {
        asked.push(merchantId);
        answer(outcomeOf(merchantId, given));
      },
      claim: () => Promise.resolve('claim'),
      refundClaim: () => Promise.reject(new Error('no answer within 25 ms')),
      settleClaim: () => Promise.resolve({ outcome: 'not_found' }),
      ...enforcer,
    },
    headersOf: rateLimitHeaders,
    readPath: createPathReader({ policy: 'strict', exceptions: [] }),
    pathCaseSensitive: true,
    claimMs: 60_000,
  });
  return { decisions, given, asked };
}

const byName = (merchant: string, given: string[]): Outcome => verdict(!merchant.startsWith('refused'), given, merchant);
const wanting = (merchant: string) => ({ merchant, wantClaim: true });

test('only a request that passes has a claim, and only if one is wanted', async () => {
  const { decisions } = house(byName);
  expect(await decisions.check(wanting('a'))).toMatchObject({ allowed: true, status: 200, claim: 'claim' });
  expect((await decisions.check({ merchant: 'a' })).claim).toBeUndefined();
  expect(await decisions.check(wanting('refused'))).toMatchObject({ allowed: false, status: 429, retryAfterMs: 5 });
});

test('a decision that Redis cannot keep a claim for stands, without one', async () => {
  const { decisions, given } = house(byName, { claim: () => Promise.resolve(undefined) });
  expect(await decisions.check(wanting('a'))).toMatchObject({ allowed: true, claim: undefined });
  expect(given).toEqual([]);
});

test('of several that pass together or not at all, what passed is given back when one does not', async () => {
  const { decisions, given } = house(byName);
  const made = await decisions.checkSeveral([wanting('a'), wanting('refused'), wanting('b')], 'all');
  expect(made.map(({ allowed, claim }) => [allowed, claim])).toEqual([
    [true, undefined],
    [false, undefined],
    [true, undefined],
  ]);
  expect(given).toEqual(['a', 'b']);
});

test('of several that are decided about one by one, each keeps what it took', async () => {
  const { decisions, given } = house(byName);
  const made = await decisions.checkSeveral([wanting('a'), wanting('refused')], 'each');
  expect(made.map(({ claim }) => claim)).toEqual(['claim', undefined]);
  expect(given).toEqual([]);
});

test('a path that servers read in different ways is refused before anything is taken', async () => {
  const { decisions, asked } = house(byName);
  await expect(decisions.check({ merchant: 'a', path: '/a/../b' })).rejects.toThrow(PathRefusedError);
  await expect(decisions.checkSeveral([{ merchant: 'a' }, { merchant: 'b', path: '/a//b' }], 'each')).rejects.toThrow(PathRefusedError);
  expect(asked).toEqual([]);
});

test.each([
  ['unknown_merchant', 403],
  ['too_many_unknown', 503],
  ['rules_unavailable', 503],
] as const)('without a verdict, because of %s, the status is %d', async (reason, status) => {
  const { decisions } = house(() => ({ allowed: false, reason }));
  expect(await decisions.check(wanting('a'))).toMatchObject({ allowed: false, reason, status, retryAfterMs: 'unknown', limits: [] });
});

test('a claim of which Redis does not tell in time is unavailable, and not unknown', async () => {
  const { decisions } = house(byName);
  await expect(decisions.refund('x')).rejects.toThrow(ClaimUnavailableError);
  expect(await decisions.settle('x')).toEqual({ outcome: 'not_found' });
});
