import type { NewerRule } from './newer-rule.js';
import type { RuleOverrides } from './override.js';
import type { Rule } from './rule.js';
import type { Switch } from './switches.js';

/** A merchant's rules at one version, as gateways read them. */
export interface MerchantSnapshot {
  readonly merchantId: string;
  /** Grows with every change of the merchant or its rules. */
  readonly version: number;
  /** False marks a merchant that was deleted: a tombstone, so that an older snapshot cannot bring it back. */
  readonly exists: boolean;
  /** IANA name, for limits that follow the calendar and name no zone of their own. */
  readonly timeZone: string;
  /** The name of its plan, if it has one: its rules are a snapshot of their own, which all merchants of the plan share. */
  readonly plan?: string;
  /** The enabled rules, in no particular order. */
  readonly rules: readonly Rule[];
  /** Of these rules, of those of its plan or of default ones; missing if there never was any. */
  readonly overrides?: readonly RuleOverrides[];
  /** Those of its enabled rules that only a newer version can read. */
  readonly newerRules?: readonly NewerRule[];
}

/** The rules of a plan at one version. */
export interface PlanSnapshot {
  readonly plan: string;
  /** Grows with every change of the plan's rules. */
  readonly version: number;
  /** False marks a plan that was deleted. */
  readonly exists: boolean;
  /** The enabled rules, in no particular order. */
  readonly rules: readonly Rule[];
  readonly newerRules?: readonly NewerRule[];
}

/** The rules that belong to no merchant and apply to all. */
export interface DefaultRulesSnapshot {
  readonly version: number;
  readonly rules: readonly Rule[];
  readonly newerRules?: readonly NewerRule[];
  /** What is switched on, of any merchant and layer: it travels with the rules that concern all. Missing if nothing is. */
  readonly switches?: readonly Switch[];
}
