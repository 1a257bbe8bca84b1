import { pathMatcher, type PathMatcher } from './path-pattern.js';
import { namesMethod } from './rule-method.js';
import type { RuleMatch, StoreFailurePolicy } from './rule.js';

/**
 * A rule in a version of the language that is not known here: a newer Tollgate has written it. What it limits cannot be said. It counts as a rule does whose
 * store is away: one that is `closed` refuses the requests that it may concern, and the others let them pass; there is no bucket to be kept for `local`.
 */
export interface NewerRule {
  readonly id: string;
  readonly language: number;
  readonly onStoreFailure: StoreFailurePolicy;
  /** As far as it can be read; everything if it cannot. More conditions than these only make it concern less. */
  readonly match: Pick<RuleMatch, 'methods' | 'paths'>;
}

/** Tells which requests are refused because of such rules. */
export class ClosedByNewerRules {
  private readonly closed: readonly { readonly methods: readonly string[]; readonly paths: readonly PathMatcher[] }[];

  constructor(rules: readonly NewerRule[]) {
    this.closed = rules
      .filter(({ onStoreFailure }) => onStoreFailure === 'closed')
      .map(({ match: { methods, paths } }) => ({ methods, paths: paths.map(pathMatcher) }));
  }

  get isPathless(): boolean {
    return this.closed.every(({ paths }) => paths.length === 0);
  }

  concern(method: string, segments: readonly string[], ignoreCase: boolean): boolean {
    const asGet = method === 'HEAD' ? 'GET' : method;
    return this.closed.some(
      ({ methods, paths }) =>
        (namesMethod(methods, method) || methods.includes(asGet)) &&
        (paths.length === 0 || paths.some((matches) => matches(segments, ignoreCase))),
    );
  }
}
