import { isClaimField } from '../conditions/claim.js';
import { fieldsIn } from '../conditions/condition.js';
import { isBodyField } from '../conditions/request-field.js';
import type { KeyPart, RuleSpec } from './rule.js';

/**
 * The versions of the language of a rule: what a reader has to know to decide by it. A rule is written with the lowest version that has all of its parts,
 * so that readers of before know at once which rules they would only half understand.
 *
 * 1. What a rule could say at first.
 * 2. Conditions on fields, validity, schedules, keys of any field, enforcePercent.
 * 3. Fields of the body, a cost that a field says, charges that wait for the answer, claims of tokens.
 * 4. Shares of the buckets that are kept for some routes.
 */
export const RULE_LANGUAGE = 4;

/** The parts of a key that version 1 knows. */
const FIRST_KEY_PARTS: readonly KeyPart[] = ['merchant', 'ip', 'method'];

/** The version of the language that a rule is written in. */
export function languageOf(rule: Omit<RuleSpec, 'limits'>): number {
  const { match, key, mode, validFrom, validTo, schedule, reserve } = rule;
  if (reserve && reserve.length > 0) return 4;
  if (looksBeyondHead(rule)) return 3;
  const isLater =
    (match.all?.length ?? 0) > 0 ||
    typeof mode === 'object' ||
    validFrom ||
    validTo ||
    schedule ||
    !key.every((part) => FIRST_KEY_PARTS.includes(part));
  return isLater ? 2 : 1;
}

function looksBeyondHead({ cost, charge, ...rule }: Omit<RuleSpec, 'limits'>): boolean {
  return typeof cost === 'object' || charge?.on === 'response' || readsBody({ cost, ...rule }) || readsClaims(rule);
}

function readsClaims({ match, key }: Pick<RuleSpec, 'match' | 'key'>): boolean {
  return key.some(isClaimField) || (match.all !== undefined && fieldsIn(match.all).some(isClaimField));
}

/** Whether a rule can only be decided by once the body of the request has been read. */
export function readsBody({ match, key, cost, onUnreadableBody }: Pick<RuleSpec, 'match' | 'key' | 'cost' | 'onUnreadableBody'>): boolean {
  return (
    onUnreadableBody === 'refuse' ||
    key.some(isBodyField) ||
    (typeof cost === 'object' && isBodyField(cost.field)) ||
    (match.all !== undefined && fieldsIn(match.all).some(isBodyField))
  );
}
