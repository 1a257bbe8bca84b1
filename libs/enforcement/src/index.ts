export { Enforcer } from './enforcer.js';
export type { EnforcerLogger, EnforcerOptions } from './enforcer-options.js';
export { isVerdict, type NoVerdict, type NoVerdictReason, type Outcome } from './outcome.js';
export { postgresRules } from './postgres-rules.js';
export { ReceiptQueue } from './reports/receipt-queue.js';
export { SaidOnce } from './reports/said-once.js';
export { UsageCounters } from './reports/usage-counters.js';
export type { RuleSource, RuleSourceConnection } from './rules/rule-source.js';
