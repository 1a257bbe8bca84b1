import {
  merchantRules,
  phaseAt,
  refusesNothing,
  switchedRules,
  type DefaultRulesSnapshot,
  type MakeTake,
  type MerchantSnapshot,
  type NewerRule,
  type OverrideTime,
  type Phase,
  type PlanSnapshot,
  type Rule,
  type RuleOverrides,
  type Switch,
} from '#limiter';
import { CountedRules } from './counted-rules.js';
import { bytesOfMerchant, bytesOfUnknown } from './rule-memory.js';

/** What a request needs to know of its merchant's rules. */
export type KnownRules = CountedRules | 'unknown_merchant';

/** What a merchant shares with others. */
export interface SharedSnapshots {
  readonly defaults: DefaultRulesSnapshot;
  readonly plan: PlanSnapshot | undefined;
}

/** @param snapshot null: an id that belongs to no merchant */
export function compileRules(
  merchantId: string,
  snapshot: MerchantSnapshot | null,
  { defaults, plan }: SharedSnapshots,
  time: OverrideTime,
  { defaultForUnknown, makeTake }: { readonly defaultForUnknown: boolean; readonly makeTake?: MakeTake },
): KnownRules {
  if (snapshot === null && !defaultForUnknown) return 'unknown_merchant';
  const { switches = NO_SWITCHES } = defaults;
  const switched = (rules: readonly Rule[]): readonly Rule[] => switchedRules(rules, switches, merchantId);
  return merchantRules(merchantId, switched(snapshot?.rules ?? []), switched(defaults.rules), {
    as: CountedRules,
    timeZone: snapshot?.timeZone,
    plan: plan && switched(plan.rules),
    makeTake,
    overrides: snapshot?.overrides,
    time,
    newerRules: refusesNothing(switches, merchantId) ? NO_NEWER_RULES : newerRulesOf(snapshot, plan, defaults),
  });
}

const NO_SWITCHES: readonly Switch[] = [];

const NO_NEWER_RULES: readonly NewerRule[] = [];

/** None for nearly every merchant: then nothing is copied. */
function newerRulesOf(...snapshots: readonly ({ readonly newerRules?: readonly NewerRule[] } | null | undefined)[]): readonly NewerRule[] {
  return snapshots.some((each) => each?.newerRules) ? snapshots.flatMap((each) => each?.newerRules ?? []) : NO_NEWER_RULES;
}

/** For which time rules were made. What has ended for good does not come back with the clock. */
export function phaseOf(overrides: readonly RuleOverrides[], { atMs, forGood = false }: OverrideTime): Phase {
  const phase = phaseAt(overrides, atMs);
  return forGood ? { ...phase, fromMs: -Infinity } : phase;
}

export function bytesOf(merchantId: string, snapshot: MerchantSnapshot | null, rules: KnownRules): number {
  return rules === 'unknown_merchant' ? bytesOfUnknown(merchantId) : bytesOfMerchant(merchantId, snapshot, rules.takesMade);
}
