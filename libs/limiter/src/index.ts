export { Allowance } from './allowances/allowance.js';
export { Allowances } from './allowances/allowances.js';
export type { PastTake } from './algorithms/algorithm.js';
export * from './algorithms/amount.js';
export { calendarWindows } from './algorithms/calendar.js';
export * from './algorithms/exact-span.js';
export * from './algorithms/index.js';
export type { WindowLevel } from './algorithms/window-level.js';
export type { WindowBounds, Windows } from './algorithms/windows.js';
export * from './buckets/block.js';
export {
  type BodyFacts,
  bodyOfText,
  MOST_BODY_BYTES,
  NO_BODY,
  readBody,
  unreadableBody,
  UNREADABLE_BODIES,
  type UnreadableBody,
} from './body/json-body.js';
export type { UnreadableBodyPolicy } from './body/unreadable-body-policy.js';
export * from './buckets/bucket.js';
export * from './buckets/bucket-key.js';
export * from './buckets/bucket-operation.js';
export * from './buckets/carry-over.js';
export { takesOf, type CompiledRule, type RuleBuckets, type RuleTakes } from './matching/compiled-rule.js';
export { CONSISTENCIES, CONSISTENCY, type Consistency } from './rules/consistency.js';
export { CHARGE, compiledCharge, type Charge } from './rules/charge.js';
export type { Cost, CostOfField } from './rules/cost.js';
export * from './buckets/decision.js';
export * from './conditions/index.js';
export * from './matching/described-by.js';
export * from './matching/descriptor.js';
export { digestOf } from './digest.js';
export { textHash } from './text-hash.js';
export type { Retry, RetryPolicy, RetryState } from './retry-policy.js';
export { asRetry, retryOf, takesOfRetry } from './retry.js';
export * from './fields/field.js';
export { nearestName } from './fields/nearest-name.js';
export { completed, escapedPointer, isPlainObject, objectFaults, valueFaults, UNKNOWN_FIELD } from './fields/field-faults.js';
export * from './matching/explain.js';
export * from './fields/label.js';
export * from './limits/limit.js';
export { MOST_LEASE_US, MOST_LENT_SHARE, MOST_LESSEES } from './buckets/lease.js';
export { canBeLent, checkLend, type BucketLender, type LendAnswer, type LendOutcome, type LendRequest, type Lent } from './buckets/lend.js';
export * from './limits/limit-edit.js';
export * from './limits/limit-faults.js';
export { MOST_GATEWAYS } from './stores/local-share.js';
export { LookingStore } from './stores/looking-store.js';
export * from './stores/memory-bucket-store.js';
export { LeaseCounts } from './leasing/lease-counts.js';
export { LeasingBucketStore } from './leasing/leasing-bucket-store.js';
export { hindrance, lendingOf } from './leasing/lendable-rule.js';
export type { LeasingOptions } from './leasing/local-buckets.js';
export * from './fields/merchant-id.js';
export * from './matching/merchant-rules.js';
export type { NewerRule } from './rules/newer-rule.js';
export * from './limits/pace.js';
export * from './matching/path-pattern.js';
export * from './rules/override.js';
export * from './fields/plan-name.js';
export * from './stores/ports.js';
export * from './rate-limiter.js';
export * from './stores/refusal-memory.js';
export * from './stores/remembering-bucket-store.js';
export type { OnLimit } from './rules/on-limit.js';
export { rerouted, rerouteOf } from './rules/reroute.js';
export * from './reservation.js';
export { reserveOf, type ReservedShare } from './rules/reserve.js';
export * from './rules/rule.js';
export { FEWEST_INDEXED } from './matching/rule-index.js';
export * from './rules/rule-language.js';
export * from './rules/rule-mode.js';
export * from './rules/rule-schema.js';
export { namesMethod } from './rules/rule-method.js';
export { RULE_ORIGINS, type RuleOrigin, type RuleSource, SOURCES } from './rules/rule-origin.js';
export { shown } from './fields/shown.js';
export * from './fields/table-schema.js';
export * from './rules/snapshot.js';
export { SWITCH_FIELDS } from './rules/switch-fields.js';
export * from './rules/switches.js';
export { isMoment, MOMENT } from './schedule/moment.js';
export type { Schedule } from './schedule/schedule-fields.js';
export { storedOverrides } from './rules/stored-overrides.js';
export { storedTimeZone } from './rules/stored-limit.js';
export * from './rules/stored-rule.js';
export { objectAt, UnreadableError, wholeAt } from './rules/stored-value.js';
export * from './buckets/take.js';
export { line, LINE_PATTERN, PATH_PATTERN, ROUTE_NAME, textFormat, TIME_ZONE } from './fields/text-formats.js';
export * from './fields/time-zone.js';
export {
  decisionsBefore,
  NO_MATCHING_RULE,
  verdictOf,
  type LimitReport,
  type RequestFault,
  type ShadowReport,
  type Verdict,
} from './verdict.js';
export { foreignSyntaxIn, looksLikeExpression } from './writing/foreign-path-syntax.js';
export { withheldOf } from './matching/withheld.js';
export { WRITING_REASONS, writingFaults } from './writing/writing-faults.js';
export { RULE_WARNINGS, type RuleWarning, type WarningCode } from './warnings/rule-warning.js';
export { ruleWarnings } from './warnings/rule-warnings.js';
export { shadowingOf, shadowWarnings } from './warnings/shadowing.js';
export { type DayOfUse, isTelling, type PastVersion, unusedBursts } from './warnings/unused-bursts.js';
export { type CacheEntry, SieveCache } from './stores/sieve-cache.js';
