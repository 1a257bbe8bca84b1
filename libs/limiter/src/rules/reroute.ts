import type { Verdict } from '../verdict.js';

/**
 * The route for a request that is over limits; undefined if it has to be refused. All rules that refuse it have to say so, and the first one says which: in the order
 * of the layers. A block refuses in any case, and so does a limit that a request can never keep.
 */
export function rerouteOf({ allowed, reason, beganBlock, limits }: Verdict): string | undefined {
  if (allowed || reason !== 'over_limit' || beganBlock) return undefined;
  let route: string | undefined;
  for (const { rule, decision } of limits) {
    if (decision.allowed) continue;
    if (!rule.onLimit) return undefined;
    route ??= rule.onLimit.reroute;
  }
  return route;
}

/** The verdict of a request that goes to another route: it passes, and takes nothing. */
export function rerouted(verdict: Verdict, route: string): Verdict {
  return { ...verdict, allowed: true, reason: 'rerouted', waitMs: 0, reroutedTo: route };
}
