import type { Condition } from './condition.js';
import { canonicalField } from './request-field.js';

/** The fields that conditions look at, each once, by its one spelling. */
export function fieldsLookedAt(conditions: readonly Condition[]): ReadonlySet<string> {
  return new Set(conditions.flatMap(fieldsOf));
}

function fieldsOf(condition: Condition): string[] {
  if ('all' in condition) return condition.all.flatMap(fieldsOf);
  if ('any' in condition) return condition.any.flatMap(fieldsOf);
  return 'not' in condition ? fieldsOf(condition.not) : [canonicalField(condition.field)];
}
