import { type RuleOverrides, storedOverrides } from '#limiter';

/** Overrides of one merchant, as a column of JSON. */
const OVERRIDES = `jsonb_agg(jsonb_build_object(
    'ruleId', o.rule_id::text, 'id', o.id::text, 'number', o.number, 'multiply', o.multiply, 'limits', o.limits, 'before', o.limits_before,
    'fromMs', round(extract(epoch FROM o.from_at) * 1000)::bigint, 'untilMs', round(extract(epoch FROM o.until_at) * 1000)::bigint,
    'deleted', o.deleted) ORDER BY o.rule_id, o.number)`;

/**
 * The overrides that a merchant's snapshot has, as a column of JSON; null if there never was any, which is what nearly every merchant has.
 * @param merchant SQL for its id
 */
export const overridesOf = (merchant: string): string =>
  `(SELECT ${OVERRIDES} FROM rule_override o WHERE o.merchant_id = ${merchant} AND o.remembered) AS overrides`;

/**
 * The same of many merchants at once, as a statement that has a row for each merchant that has some: to ask for each merchant by itself takes longer than to read it.
 * @param merchants SQL by which `o.merchant_id` is one of them
 */
export const overridesOfMany = (merchants: string): string =>
  `SELECT o.merchant_id, ${OVERRIDES} AS overrides FROM rule_override o WHERE ${merchants} AND o.remembered GROUP BY o.merchant_id`;

/** What stands in that column. @throws UnreadableError */
export function overridesIn(column: unknown): readonly RuleOverrides[] {
  return storedOverrides(byRule(column ?? []));
}

/** Overrides as they are stored, one after the other, under the rules that they are of. */
function byRule(overrides: unknown): unknown {
  if (!Array.isArray(overrides)) return overrides;
  const groups = new Map<unknown, unknown[]>();
  for (const each of overrides as readonly { ruleId?: unknown }[]) groups.set(each.ruleId, [...(groups.get(each.ruleId) ?? []), each]);
  return [...groups].map(([ruleId, periods]) => ({ ruleId, periods }));
}
