import type { Descriptor } from './descriptor.js';
import type { MerchantRules } from './merchant-rules.js';
import { pathSegments } from './path-pattern.js';
import { askedMethod, mismatchOf, type RuleLayer } from './rule-matcher.js';
import type { RuleOrigin, RuleTemplate } from './rule-template.js';
import { LAYERS, type Layer, type Rule } from './rule.js';

/** Why a rule is not the one that a request has to obey: the first condition that failed, with what it wants and what there was. */
export interface WhyNot {
  readonly code: 'disabled' | 'method_differs' | 'path_differs' | 'displaced';
  readonly field: 'enabled' | 'match.methods' | 'match.paths' | 'priority';
  readonly expected: unknown;
  readonly got: unknown;
}

/** Whose rule it is, in the words of the Rules API. */
export type ExplainedSource = 'merchant' | 'plan' | 'default';

const SOURCES: Readonly<Record<RuleOrigin, ExplainedSource>> = { own: 'merchant', plan: 'plan', default: 'default' };

export interface ConsideredRule {
  readonly rule: Rule;
  readonly source: ExplainedSource;
  /** Whether its conditions hold, be it chosen or displaced by another one. */
  readonly matched: boolean;
  readonly chosen: boolean;
  /** Null for a chosen rule. */
  readonly why: WhyNot | null;
}

export interface ExplainedLayer {
  readonly layer: Layer;
  /** In the order in which they are asked: those that are enforced, then shadow rules, then disabled ones. */
  readonly considered: readonly ConsideredRule[];
}

/** Rules that are switched off, and whose they are. */
export interface DisabledRule {
  readonly rule: Rule;
  readonly source: ExplainedSource;
}

/**
 * Tells of every rule of a merchant why a request has to obey it, or does not. It asks the same conditions in the same order as `choose`, which
 * stops at the first rule that matches.
 */
export function explainChoice(
  rules: MerchantRules,
  { method, target, ignorePathCase = false }: Descriptor,
  disabled: readonly DisabledRule[] = [],
): ExplainedLayer[] {
  const segments = pathSegments(target, ignorePathCase);
  return LAYERS.flatMap((layer) => {
    const found = rules.layers.find((each) => each.layer === layer);
    const considered = [
      ...(found ? explainedLayer(found, method, target, segments, ignorePathCase) : []),
      ...disabled.filter(({ rule }) => rule.layer === layer).map(explainedDisabled),
    ];
    return considered.length === 0 ? [] : [{ layer, considered }];
  });
}

function explainedLayer(
  { enforced, shadow }: RuleLayer,
  method: string,
  target: string,
  segments: readonly string[],
  ignoreCase: boolean,
): ConsideredRule[] {
  return [enforced, shadow].flatMap((asked) => {
    const asMethod = askedMethod(asked, method, segments, ignoreCase);
    let chosen: RuleTemplate | undefined;
    return asked.map((template): ConsideredRule => {
      const { rule } = template;
      const source = SOURCES[template.source];
      const mismatch = mismatchOf(template, asMethod, segments, ignoreCase);
      if (mismatch !== undefined) return { rule, source, matched: false, chosen: false, why: whyNot(rule, mismatch, asMethod, target) };
      if (chosen !== undefined) return { rule, source, matched: true, chosen: false, why: displaced(rule, chosen.rule) };
      chosen = template;
      return { rule, source, matched: true, chosen: true, why: null };
    });
  });
}

function whyNot({ match }: Rule, mismatch: 'method' | 'path', method: string, target: string): WhyNot {
  return mismatch === 'method'
    ? { code: 'method_differs', field: 'match.methods', expected: match.methods, got: method }
    : { code: 'path_differs', field: 'match.paths', expected: match.paths, got: target };
}

/** On a tie the merchant's own rule is asked before its plan's, its plan's before a default one, then the older one. */
function displaced({ priority }: Rule, by: Rule): WhyNot {
  const expected = `more than ${by.priority}, the priority of rule ${by.id}`;
  return { code: 'displaced', field: 'priority', expected, got: priority };
}

function explainedDisabled({ rule, source }: DisabledRule): ConsideredRule {
  return { rule, source, matched: false, chosen: false, why: { code: 'disabled', field: 'enabled', expected: true, got: false } };
}
