import { isClaimField } from './conditions/claim.js';
import type { Condition } from './conditions/condition.js';
import type { KeyPart, RuleSpec } from './rule.js';

/**
 * The versions of the language of a rule: what a reader has to know to decide by it. A rule is written with the lowest version that has all of its parts,
 * so that readers of before know at once which rules they would only half understand.
 *
 * 1. What a rule could say at first.
 * 2. Conditions on fields, validity, schedules, keys of any field, enforcePercent.
 * 3. Claims of tokens.
 */
export const RULE_LANGUAGE = 3;

/** The parts of a key that version 1 knows. */
const FIRST_KEY_PARTS: readonly KeyPart[] = ['merchant', 'ip', 'method'];

/** The version of the language that a rule is written in. */
export function languageOf({ match, key, mode, validFrom, validTo, schedule }: Omit<RuleSpec, 'limits'>): number {
  if (key.some(isClaimField) || match.all?.some(looksAtClaim)) return 3;
  const isLater =
    (match.all?.length ?? 0) > 0 ||
    typeof mode === 'object' ||
    validFrom ||
    validTo ||
    schedule ||
    !key.every((part) => FIRST_KEY_PARTS.includes(part));
  return isLater ? 2 : 1;
}

function looksAtClaim(condition: Condition): boolean {
  if ('all' in condition) return condition.all.some(looksAtClaim);
  if ('any' in condition) return condition.any.some(looksAtClaim);
  return 'not' in condition ? looksAtClaim(condition.not) : isClaimField(condition.field);
}
