import type { ObjectField, SpecOf } from './field.js';
import { ROUTE_NAME } from './text-formats.js';
import type { Verdict } from './verdict.js';

const ON_LIMIT_FIELDS = {
  reroute: {
    kind: 'text',
    format: ROUTE_NAME,
    required: true,
    example: 'slow',
    explanation: 'The name of a route of the gateway. A gateway that has no such route refuses.',
  },
} as const;

export const ON_LIMIT = {
  kind: 'object',
  fields: ON_LIMIT_FIELDS,
  nullable: true,
  default: null,
  absentMeans: null,
  explanation:
    'What becomes of a request that is over a limit of the rule: it goes to the upstream of this route instead of being refused, and takes nothing. With null it is refused.',
} as const satisfies ObjectField;

/** What becomes of requests that are over a limit. */
export type OnLimit = SpecOf<typeof ON_LIMIT_FIELDS>;

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
