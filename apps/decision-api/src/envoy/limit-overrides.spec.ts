import type { Rule } from '#limiter';
import { FORGOTTEN_AFTER_MS, LimitOverrides, MOST_OVERRIDES } from './limit-overrides.js';

function bed() {
  const enforcer = { rules: [] as readonly Rule[], rulesHere: (rules: readonly Rule[]) => void (enforcer.rules = rules) };
  const clock = { nowMs: 0 };
  const overrides = new LimitOverrides(enforcer, () => clock.nowMs);
  return { enforcer, clock, overrides };
}

test('a limit is one rule for all methods but OPTIONS and one for OPTIONS, however often it is brought', () => {
  const { enforcer, overrides } = bed();
  const headers = [1, 2, 3].map(() => overrides.headerOf({ requestsPerUnit: 5, unit: 'MINUTE' }));
  expect(new Set(headers).size).toBe(1);
  expect(enforcer.rules.map(({ match, limits, layer, priority }) => [match.methods, limits[0], layer, priority])).toEqual(
    [[], ['OPTIONS']].map((methods) => [methods, expect.objectContaining({ limit: 5, windowMs: 60_000 }), 'merchant', 1_000_000]),
  );
});

test('another process has the same ids for the same limits, and a header that clients cannot know', () => {
  const [one, other] = [bed(), bed()];
  const limits = ['SECOND', 'MINUTE', 'HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR'].flatMap((unit) =>
    [0, 1, 1_000_000_000].map((requestsPerUnit) => ({ requestsPerUnit, unit })),
  );
  const headersOf = ({ overrides }: typeof one) => limits.map((limit) => overrides.headerOf(limit));
  const [first, second] = [headersOf(one), headersOf(other)];
  expect(first.filter((header) => second.includes(header))).toEqual([]);
  const idsOf = ({ enforcer }: typeof one) => enforcer.rules.map(({ id }) => id);
  expect(idsOf(one)).toEqual(idsOf(other));
  expect(new Set(idsOf(one)).size).toBe(2 * limits.length);
  for (const id of idsOf(one)) expect(Number(id)).toBeLessThan(2 ** 52);
});

test('there is room for so many limits, and for further ones when others have not been asked for', () => {
  const { clock, enforcer, overrides } = bed();
  const ask = (requestsPerUnit: number) => overrides.headerOf({ requestsPerUnit, unit: 'HOUR' });
  for (let i = 0; i < MOST_OVERRIDES; i++) ask(i);
  expect(() => ask(1_000)).toThrow('write rules for them');
  expect(() => ask(0)).not.toThrow();
  clock.nowMs = FORGOTTEN_AFTER_MS - 1;
  ask(7);
  clock.nowMs = FORGOTTEN_AFTER_MS;
  ask(1_000);
  expect(enforcer.rules.map(({ limits }) => (limits[0] as unknown as { limit: number }).limit)).toEqual([7, 7, 1_000, 1_000]);
});
