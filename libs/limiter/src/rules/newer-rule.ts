import { NamedRoutes } from './named-routes.js';
import type { RuleMatch, StoreFailurePolicy } from './rule.js';

/**
 * A rule in a version of the language that is not known here: a newer Tollgate has written it. What it limits cannot be said. It counts as a rule does whose
 * store is away: one that is `closed` (or `leased`) refuses the requests that it may concern, and the others let them pass; there is no bucket to be kept for `local`.
 */
export interface NewerRule {
  readonly id: string;
  readonly language: number;
  readonly onStoreFailure: StoreFailurePolicy;
  /** As far as it can be read; everything if it cannot. More conditions than these only make it concern less. */
  readonly match: Pick<RuleMatch, 'methods' | 'paths'>;
}

/** The requests that are refused because of such rules. */
export function closedByNewerRules(rules: readonly NewerRule[]): NamedRoutes {
  return new NamedRoutes(
    rules.filter(({ onStoreFailure }) => onStoreFailure === 'closed' || onStoreFailure === 'leased').map(({ match }) => match),
  );
}
