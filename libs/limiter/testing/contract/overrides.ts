import {
  NewerRulesError,
  ruleUnder,
  startLimits,
  type Limit,
  type OverridePeriod,
  type OverrideTime,
  type Rule,
  type TokenBucketSpec,
} from '../../src/index.js';
import { burst, takeFrom } from '../takes.js';
import type { CreateStore } from './store-under-test.js';

const SECOND_MS = 1000;

/** Ten at once and one a second; between the seconds 10 and 20 an override. */
export function describeOverriddenBuckets(create: CreateStore): void {
  const [base] = startLimits([burst({ refillTokens: 1 })], 0) as [Limit];
  const under = (numbers: Partial<TokenBucketSpec>, changes: Partial<OverridePeriod> = {}) => {
    const before = [{ limitId: base.id, generation: base.generation, override: 0 }];
    const limits = [{ limitId: base.id, numbers: numbers as Record<string, number> }];
    const period = { id: '1', number: 1, fromMs: 10 * SECOND_MS, untilMs: 20 * SECOND_MS, deleted: false, before, limits, ...changes };
    return (time: OverrideTime): Limit =>
      ruleUnder({ limits: [base] } as unknown as Rule, { ruleId: '1', periods: [period as OverridePeriod] }, time, undefined).limits[0]!;
  };
  const FIVEFOLD = { capacity: 50, refillTokens: 5 };
  const during: OverrideTime = { atMs: 10 * SECOND_MS };
  const after: OverrideTime = { atMs: 20 * SECOND_MS };

  describe('under an override', () => {
    const rows: { title: string; numbers: Partial<TokenBucketSpec>; spent: number; lookAtMs: number; remaining: number }[] = [
      { title: 'its beginning gives no tokens', numbers: FIVEFOLD, spent: 10, lookAtMs: 10_000, remaining: 0 },
      { title: 'its rate counts from its beginning on', numbers: FIVEFOLD, spent: 10, lookAtMs: 12_000, remaining: 10 },
      { title: 'an idle merchant has what refilled meanwhile', numbers: FIVEFOLD, spent: 0, lookAtMs: 13_000, remaining: 25 },
      { title: 'its end cuts to the capacity of the rule', numbers: FIVEFOLD, spent: 0, lookAtMs: 20_000, remaining: 10 },
      {
        title: 'behind its end the rate is that of the rule',
        numbers: { capacity: 10, refillTokens: 1000 },
        spent: 0,
        lookAtMs: 21_000,
        remaining: 10,
      },
      { title: 'a lower capacity cuts at once', numbers: { capacity: 3 }, spent: 0, lookAtMs: 10_000, remaining: 3 },
      { title: 'the end of a lower capacity gives no tokens', numbers: { capacity: 3 }, spent: 0, lookAtMs: 20_000, remaining: 3 },
    ];
    test.each(rows)('$title, touched before or never', async ({ numbers, spent, lookAtMs, remaining }) => {
      const { store, clock } = await create();
      clock.nowMs = 10_000;
      if (spent > 0) await takeFrom(store, [{ key: 'touched', limit: base, cost: spent }]);
      else await takeFrom(store, [{ key: 'touched', limit: base, cost: 0 }]);
      clock.nowMs = lookAtMs;
      const limit = under(numbers)({ atMs: lookAtMs });
      for (const key of spent > 0 ? ['touched'] : ['touched', 'never touched'])
        expect((await takeFrom(store, [{ key, limit, cost: 0 }]))[0]!.remaining).toBe(remaining);
    });

    test('what was spent in its last moment is missing behind its end', async () => {
      const { store, clock } = await create();
      clock.nowMs = 19_999;
      expect((await takeFrom(store, [{ key: 'k', limit: under(FIVEFOLD)(during), cost: 50 }]))[0]).toMatchObject({ allowed: true });
      clock.nowMs = 22_000;
      expect((await takeFrom(store, [{ key: 'k', limit: under(FIVEFOLD)(after), cost: 0 }]))[0]!.remaining).toBe(2);
    });

    test('the clock of the store says when it ends: whoever is early or late takes nothing and is told the time', async () => {
      const { store, clock } = await create();
      for (const key of ['touched', 'never touched']) {
        clock.nowMs = 19_000;
        if (key === 'touched') await takeFrom(store, [{ key, limit: under(FIVEFOLD)(during), cost: 5 }]);
        for (const [nowMs, wrong] of [
          [19_999, after],
          [20_000, during],
        ] as const) {
          clock.nowMs = nowMs;
          const refused = await takeFrom(store, [{ key, limit: under(FIVEFOLD)(wrong), cost: 1 }]).catch((error: unknown) => error);
          expect(refused).toBeInstanceOf(NewerRulesError);
          expect(refused).toMatchObject({ atUs: nowMs * 1000 });
        }
        expect((await takeFrom(store, [{ key, limit: under(FIVEFOLD)(after), cost: 0 }]))[0]!.remaining).toBe(10);
      }
    });

    test('when the clock steps back behind its end, a bucket that knows of the end stays where it is', async () => {
      const { store, clock } = await create();
      clock.nowMs = 20_000;
      await takeFrom(store, [{ key: 'k', limit: under(FIVEFOLD)(after), cost: 10 }]);
      clock.nowMs = 15_000;
      await expect(takeFrom(store, [{ key: 'k', limit: under(FIVEFOLD)(during), cost: 1 }])).rejects.toBeInstanceOf(NewerRulesError);
      expect((await takeFrom(store, [{ key: 'k', limit: under(FIVEFOLD)(after), cost: 0 }]))[0]!.remaining).toBe(0);
      // Of the other buckets of a request it has ended as well then, so that there is an answer.
      const forGood = under(FIVEFOLD)({ ...after, forGood: true });
      const both = await takeFrom(store, [
        { key: 'k', limit: forGood, cost: 0 },
        { key: 'other', limit: forGood, cost: 0 },
      ]);
      expect(both.map(({ remaining }) => remaining)).toEqual([0, 10]);
      // And nobody has gained by it.
      clock.nowMs = 16_000;
      expect((await takeFrom(store, [{ key: 'k', limit: forGood, cost: 0 }]))[0]!.remaining).toBe(1);
    });

    test('ended by hand it has ended at once, whatever the clock of the store says of that moment', async () => {
      const { store, clock } = await create();
      clock.nowMs = 15_000;
      await takeFrom(store, [{ key: 'k', limit: under(FIVEFOLD)(during), cost: 0 }]);
      const ended = under(FIVEFOLD, { untilMs: 15_500, deleted: true })({ atMs: 15_000 });
      expect((await takeFrom(store, [{ key: 'k', limit: ended, cost: 10 }]))[0]).toMatchObject({ allowed: true, remaining: 0 });
      await expect(takeFrom(store, [{ key: 'k', limit: under(FIVEFOLD)(during) }])).rejects.toBeInstanceOf(NewerRulesError);
    });
  });
}
