import type { KeyPart, RuleSpec } from './rule.js';

/**
 * The versions of the language of a rule: what a reader has to know to decide by it. A rule is written with the lowest version that has all of its parts,
 * so that readers of before know at once which rules they would only half understand.
 *
 * 1. What a rule could say at first.
 * 2. Conditions on fields, validity, schedules, keys of any field, enforcePercent.
 */
export const RULE_LANGUAGE = 2;

/** The parts of a key that version 1 knows. */
const FIRST_KEY_PARTS: readonly KeyPart[] = ['merchant', 'ip', 'method'];

/** The version of the language that a rule is written in. */
export function languageOf({ match, key, mode, validFrom, validTo, schedule }: Omit<RuleSpec, 'limits'>): number {
  const isLater =
    (match.all?.length ?? 0) > 0 ||
    typeof mode === 'object' ||
    validFrom ||
    validTo ||
    schedule ||
    !key.every((part) => FIRST_KEY_PARTS.includes(part));
  return isLater ? 2 : 1;
}
