import type { ObjectField, SpecOf } from '../fields/field.js';
import { ROUTE_NAME } from '../fields/text-formats.js';

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
  explanation:
    'What becomes of a request that is over a limit of the rule: it goes to the upstream of this route instead of being refused, and takes nothing. Without it the request is refused.',
} as const satisfies ObjectField;

/** What becomes of requests that are over a limit. */
export type OnLimit = SpecOf<typeof ON_LIMIT_FIELDS>;
