import type { RuleLayer } from '../matching/rule-matcher.js';
import type { Rule } from '../rules/rule.js';
import type { RuleOrigin } from '../rules/rule-origin.js';
import type { RuleTemplate } from '../matching/rule-template.js';
import { type Applicability, applicabilityOf, covers, isSameMatch } from './match-cover.js';
import type { RuleWarning } from './rule-warning.js';

/** Which rules make a rule unreachable, and which ones it makes unreachable, in the order in which they are asked. */
export interface Shadowing {
  readonly shadowedBy: readonly RuleTemplate[];
  readonly shadows: readonly RuleTemplate[];
}

/**
 * Of two rules that are asked in one order, the first that matches is chosen: so a rule is never chosen if one before it matches whatever it matches.
 * @param layers the rules of a merchant as they are matched, enabled ones only
 */
export function shadowingOf(layers: readonly RuleLayer[], ruleId: string): Shadowing {
  for (const { enforced, shadow } of layers) {
    for (const asked of [enforced, shadow]) {
      const place = asked.findIndex(({ rule }) => rule.id === ruleId);
      if (place !== -1) return shadowingAt(asked, place);
    }
  }
  return { shadowedBy: [], shadows: [] };
}

function shadowingAt(asked: readonly RuleTemplate[], place: number): Shadowing {
  const applies = applicabilityOf(asked[place]!.rule);
  return {
    shadowedBy: asked.slice(0, place).filter(({ rule }) => covers(applicabilityOf(rule), applies)),
    shadows: asked.slice(place + 1).filter(({ rule }) => covers(applies, applicabilityOf(rule))),
  };
}

/**
 * Warnings about a rule beside the others. Rules of other owners that it shadows are no mistake: that is how a merchant is treated otherwise than all.
 * @param isStored others have an id that only says their place in the order, and are named without it
 */
export function shadowWarnings(layers: readonly RuleLayer[], ruleId: string, isStored: IsStored = () => true): RuleWarning[] {
  const { shadowedBy, shadows } = shadowingOf(layers, ruleId);
  const here = layers.flatMap(({ enforced, shadow }) => [...enforced, ...shadow]).find(({ rule }) => rule.id === ruleId);
  if (here === undefined) return [];
  const applies = applicabilityOf(here.rule);
  const repeats = (other: RuleTemplate) => isRepetition(here, applies, other);
  const ofSameOwner = shadows.filter(({ source }) => source === here.source);
  return [
    ...repeatedWarning([...shadowedBy, ...ofSameOwner].filter(repeats), isStored),
    ...shadowedWarning(
      shadowedBy.filter((other) => !repeats(other)),
      isStored,
    ),
    ...shadowsWarning(
      ofSameOwner.filter((other) => !repeats(other)),
      isStored,
    ),
  ];
}

type IsStored = (rule: Rule) => boolean;

function isRepetition({ rule, source }: RuleTemplate, applies: Applicability, other: RuleTemplate): boolean {
  return source === other.source && rule.priority === other.rule.priority && isSameMatch(applies, applicabilityOf(other.rule));
}

function repeatedWarning(others: readonly RuleTemplate[], isStored: IsStored): RuleWarning[] {
  if (others.length === 0) return [];
  const detail = `is that of ${named(others, isStored)} as well, at the same priority: only the older of these rules is ever chosen`;
  return [{ code: 'rule.match.repeated', pointer: '/match', detail }];
}

function shadowedWarning(others: readonly RuleTemplate[], isStored: IsStored): RuleWarning[] {
  if (others.length === 0) return [];
  const detail = `is never asked: ${named(others, isStored)} comes first and matches every request that this rule matches`;
  return [{ code: 'rule.shadowed', pointer: '/priority', detail }];
}

function shadowsWarning(others: readonly RuleTemplate[], isStored: IsStored): RuleWarning[] {
  if (others.length === 0) return [];
  const detail = `comes before ${named(others, isStored)}, and this rule matches every request that would be matched there`;
  return [{ code: 'rule.shadows', pointer: '/priority', detail }];
}

const NAMES: Readonly<Record<RuleOrigin, string>> = { own: 'rule', plan: 'rule of the plan', default: 'default rule' };

/** Names one of them, with its priority, and says how many others there are. */
function named([first, ...others]: readonly RuleTemplate[], isStored: IsStored): string {
  const { rule, source } = first!;
  const name = `${NAMES[source]} ${isStored(rule) ? `${rule.id}, ` : ''}${JSON.stringify(rule.name)}, priority ${rule.priority}`;
  return others.length === 0 ? name : `${name} (and ${others.length} more)`;
}
