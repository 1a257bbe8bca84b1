import {
  merchantRules,
  type Rule,
  type RuleSource,
  type RuleSpec,
  type RuleWarning,
  ruleWarnings,
  shadowingOf,
  shadowWarnings,
  SOURCES,
  startLimits,
} from '#limiter';
import type { RuleEntity } from '#rules-db';
import { ruleSpec } from '../rules/rule.dto.js';
import type { RuleSet } from './replay.js';

/** The id of a draft that would be a new rule: after those of all others, which are older. */
export const DRAFT_ID = '9'.repeat(19);

/** The rules that stand, and those that would. */
export interface Alternatives {
  readonly now: RuleSet;
  readonly then: RuleSet;
  /** Of the draft among those that would stand. */
  readonly draftId: string;
}

export interface Standing {
  readonly merchantId: string;
  readonly timeZone: string;
  readonly own: readonly RuleEntity[];
  /** Undefined: it has no plan. */
  readonly plan: readonly RuleEntity[] | undefined;
  readonly defaults: readonly RuleEntity[];
}

/**
 * Puts a draft among the rules that stand. All limits begin at an instant, full: what live buckets hold is nothing to do with a sample of other times.
 * @param replaced the rule in whose place the draft comes; nothing for a new rule of the merchant
 */
export function alternatives(
  { merchantId, timeZone, own, plan, defaults }: Standing,
  draft: RuleSpec,
  replaced: RuleEntity | undefined,
  atMs: number,
): Alternatives {
  const draftId = replaced?.id ?? DRAFT_ID;
  const written = replaced === undefined ? draft : { ...draft, limits: withoutLevels(draft.limits) };
  const rule: Rule = { ...written, id: draftId, limits: startLimits(written.limits, atMs) };
  const begun = (rules: readonly RuleEntity[]) => rules.map((each) => beginning(each, atMs));
  const now = { merchantId, timeZone, own: begun(own), plan: plan && begun(plan), defaults: begun(defaults) };
  const withDraft = (rules: readonly Rule[]) => rules.map((each) => (each.id === draftId ? rule : each));
  const then = { ...now, own: withDraft(now.own), plan: now.plan && withDraft(now.plan), defaults: withDraft(now.defaults) };
  return { now, then: replaced === undefined ? { ...then, own: [...then.own, rule] } : then, draftId };
}

function beginning(stored: RuleEntity, atMs: number): Rule {
  const spec = ruleSpec(stored);
  return { ...spec, id: stored.id, limits: startLimits(withoutLevels(spec.limits), atMs) };
}

/** The level at which a limit started is past; an edit does not bring it back. */
function withoutLevels(limits: RuleSpec['limits']): RuleSpec['limits'] {
  return limits.map((limit) => {
    if (!('initialTokens' in limit)) return limit;
    const { initialTokens: _initialTokens, ...others } = limit;
    return others;
  });
}

/** A rule as it is named in an answer. */
export interface NamedRule {
  readonly ruleId: string;
  readonly name: string;
  readonly source: RuleSource;
  readonly priority: number;
}

export interface DraftShadowing {
  readonly shadows: readonly NamedRule[];
  readonly shadowedBy: readonly NamedRule[];
  /** Rules that only the replaced rule makes unreachable now. */
  readonly uncovers: readonly NamedRule[];
  readonly warnings: readonly RuleWarning[];
}

/** What a draft does to the other rules of its layer, and they to it. */
export function shadowingOfDraft({ now, then, draftId }: Alternatives, draft: RuleSpec, nowMs: number): DraftShadowing {
  const [before, after] = [layersOf(now), layersOf(then)];
  const { shadows, shadowedBy } = shadowingOf(after, draftId);
  const uncovers = shadowingOf(before, draftId).shadows.filter(({ rule }) => shadowingOf(after, rule.id).shadowedBy.length === 0);
  const named = ({ rule: { id, name, priority }, source }: (typeof shadows)[number]): NamedRule => {
    return { ruleId: id, name, source: SOURCES[source], priority };
  };
  return {
    shadows: shadows.map(named),
    shadowedBy: shadowedBy.map(named),
    uncovers: uncovers.map(named),
    warnings: [...ruleWarnings(draft, nowMs), ...shadowWarnings(after, draftId)],
  };
}

function layersOf({ merchantId, own, plan, defaults, timeZone }: RuleSet) {
  return merchantRules(merchantId, own, defaults, { timeZone, plan }).layers;
}
