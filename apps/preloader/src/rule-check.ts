import { limitFaults, pathPatternFault, type Rule } from '#limiter';

/** Thrown for rules that a gateway could not work with. */
export class UnusableRuleError extends Error {
  constructor(ruleId: string, detail: string) {
    super(`rule ${ruleId} is not usable: ${detail}`);
    this.name = 'UnusableRuleError';
  }
}

/**
 * Throws unless gateways can work with all of these rules. The Rules API lets no other in, but rows have been edited by
 * hand before, and what is written to Redis is believed by every gateway: it must not be worse than what is there.
 */
export function assertUsable(rules: readonly Rule[]): void {
  for (const rule of rules) {
    const fault = faultOf(rule);
    if (fault !== undefined) throw new UnusableRuleError(rule.id, fault);
  }
}

/** The columns are JSON of any shape, whatever the types say. */
function faultOf({ match, key, limits }: Rule): string | undefined {
  if (!isList(match?.methods) || !isList(match.paths) || !isList(key)) return 'match and key must hold lists';
  for (const path of match.paths) {
    const fault = typeof path === 'string' ? pathPatternFault(path) : 'not a text';
    if (fault !== undefined) return `path pattern ${JSON.stringify(path)}: ${fault}`;
  }
  if (!isList(limits) || limits.length === 0) return 'limits must be a list that is not empty';
  for (const limit of limits) {
    const [fault] = limitFaults(limit);
    if (fault !== undefined) return `${fault.field}: ${fault.detail}`;
    if (!Number.isInteger(limit.id) || !Number.isInteger(limit.generation)) return 'a limit lacks its id or generation';
    if (!isList(limit.previous) || !Number.isFinite(limit.since?.atMs)) return 'a limit lacks its history';
  }
  return undefined;
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
