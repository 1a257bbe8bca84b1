import { RULE_ORIGINS } from '../rules/rule-origin.js';
import type { RuleTemplate } from './rule-template.js';

/** The highest priority first; on a tie the merchant's own before its plan's, its plan's before a default one; then the older. */
export function compareRules(a: RuleTemplate, b: RuleTemplate): number {
  return b.rule.priority - a.rule.priority || rankOf(a) - rankOf(b) || compareIds(a.rule.id, b.rule.id);
}

function rankOf({ source }: RuleTemplate): number {
  return RULE_ORIGINS.indexOf(source);
}

/** Ids are decimal strings, the older the smaller. */
function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
