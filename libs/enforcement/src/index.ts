export { Enforcer } from './enforcer.js';
export type { EnforcerLogger, EnforcerOptions } from './enforcer-options.js';
export type { ApiKeySource, KnownApiKey } from './keys/api-key-source.js';
export type { ApiKeys } from './keys/api-keys.js';
export { TooManyUnknownError } from './rules/rule-source.js';
export { isVerdict, type NoVerdict, type NoVerdictReason, type Outcome } from './outcome.js';
export { postgresRules } from './postgres-rules.js';
export { SaidOnce } from './reports/said-once.js';
export type { RuleSource, RuleSourceConnection } from './rules/rule-source.js';
