import { merchantRules, type RuleWarning, ruleWarnings, shadowWarnings } from '#limiter';
import { ProblemError } from '#platform';
import { ownerOf, type RuleEntity, type RuleRepository } from '#rules-db';
import { ruleSpec } from './rule.dto.js';

/**
 * What is probably a mistake in a rule that was just written, by itself and among the rules with which it competes. Three queries at most, and time that is
 * bounded by the numbers of rules and paths.
 * @param rules in the transaction that wrote it, so that nobody else writes a rule of the owner meanwhile
 * @param isReadable rules that cannot be read are not compared
 */
export async function warningsOf(
  rule: RuleEntity,
  rules: RuleRepository,
  isReadable: (rule: RuleEntity) => boolean,
): Promise<RuleWarning[]> {
  const byItself = ruleWarnings(ruleSpec(rule), Date.now());
  if (!rule.enabled) return byItself;
  const { own, plan, defaults } = await rules.competitors(ownerOf(rule), rule.layer);
  const { layers } = merchantRules(rule.merchantId ?? '', own.filter(isReadable), defaults.filter(isReadable), {
    plan: plan.filter(isReadable),
  });
  return [...byItself, ...shadowWarnings(layers, rule.id)];
}

/** The answer where warnings are errors. */
export function refusedForWarnings(warnings: readonly RuleWarning[]): ProblemError {
  return new ProblemError({
    status: 400,
    type: 'invalid-body',
    code: 'rule.warnings',
    detail:
      'the rule is probably a mistake, and strict=true asks to refuse it then; without it the rule would be written with these warnings',
    errors: warnings,
  });
}
