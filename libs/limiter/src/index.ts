export type { PastTake } from './algorithms/algorithm.js';
export * from './algorithms/amount.js';
export { calendarWindows } from './algorithms/calendar.js';
export * from './algorithms/exact-span.js';
export * from './algorithms/index.js';
export type { WindowLevel } from './algorithms/window-level.js';
export type { WindowBounds, Windows } from './algorithms/windows.js';
export * from './block.js';
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
export * from './bucket.js';
export * from './bucket-key.js';
export * from './bucket-operation.js';
export * from './carry-over.js';
export { takesOf, type CompiledRule, type RuleBuckets, type RuleTakes } from './compiled-rule.js';
export { CONSISTENCIES, CONSISTENCY, type Consistency } from './consistency.js';
export { CHARGE, compiledCharge, type Charge } from './charge.js';
export type { Cost, CostOfField } from './cost.js';
export * from './decision.js';
export * from './conditions/index.js';
export * from './described-by.js';
export * from './descriptor.js';
export { digestOf } from './digest.js';
export type { Retry, RetryPolicy, RetryState } from './retry-policy.js';
export { asRetry, retryOf, takesOfRetry } from './retry.js';
export * from './field.js';
export { nearestName } from './nearest-name.js';
export { completed, escapedPointer, isPlainObject, objectFaults, valueFaults, UNKNOWN_FIELD } from './field-faults.js';
export * from './explain.js';
export * from './label.js';
export * from './limit.js';
export { MOST_LEASE_US, MOST_LENT_SHARE, MOST_LESSEES } from './lease.js';
export { canBeLent, checkLend, type BucketLender, type LendAnswer, type LendOutcome, type LendRequest, type Lent } from './lend.js';
export * from './limit-edit.js';
export * from './limit-faults.js';
export { MOST_GATEWAYS } from './local-share.js';
export { LookingStore } from './looking-store.js';
export * from './memory-bucket-store.js';
export { LeaseCounts } from './leasing/lease-counts.js';
export { LeasingBucketStore } from './leasing/leasing-bucket-store.js';
export { hindrance, lendingOf } from './leasing/lendable-rule.js';
export type { LeasingOptions } from './leasing/local-buckets.js';
export * from './merchant-id.js';
export * from './merchant-rules.js';
export type { NewerRule } from './newer-rule.js';
export * from './pace.js';
export * from './path-pattern.js';
export * from './override.js';
export * from './plan-name.js';
export * from './ports.js';
export * from './rate-limiter.js';
export * from './refusal-memory.js';
export * from './remembering-bucket-store.js';
export type { OnLimit } from './on-limit.js';
export { rerouted, rerouteOf } from './reroute.js';
export * from './reservation.js';
export { reserveOf, type ReservedShare } from './reserve.js';
export * from './rule.js';
export { FEWEST_INDEXED } from './rule-index.js';
export * from './rule-language.js';
export * from './rule-mode.js';
export * from './rule-schema.js';
export { namesMethod } from './rule-method.js';
export { RULE_ORIGINS, type RuleOrigin, type RuleSource, SOURCES } from './rule-origin.js';
export { shown } from './shown.js';
export * from './table-schema.js';
export * from './snapshot.js';
export { SWITCH_FIELDS } from './switch-fields.js';
export * from './switches.js';
export { isMoment, MOMENT } from './schedule/moment.js';
export type { Schedule } from './schedule/schedule-fields.js';
export { storedOverrides } from './stored-overrides.js';
export { storedTimeZone } from './stored-limit.js';
export * from './stored-rule.js';
export { objectAt, UnreadableError, wholeAt } from './stored-value.js';
export * from './take.js';
export { line, LINE_PATTERN, PATH_PATTERN, ROUTE_NAME, textFormat, TIME_ZONE } from './text-formats.js';
export * from './time-zone.js';
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
export { headerNameFault } from './writing/header-name.js';
export { withheldOf } from './withheld.js';
export { WRITING_REASONS, writingFaults } from './writing/writing-faults.js';
export { RULE_WARNINGS, type RuleWarning, type WarningCode } from './warnings/rule-warning.js';
export { ruleWarnings } from './warnings/rule-warnings.js';
export { shadowingOf, shadowWarnings } from './warnings/shadowing.js';
export { type DayOfUse, isTelling, type PastVersion, unusedBursts } from './warnings/unused-bursts.js';
export { type CacheEntry, SieveCache } from './sieve-cache.js';
