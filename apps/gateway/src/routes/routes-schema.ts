import { type JsonSchema, objectSchema } from '#limiter';
import { ROUTES_FIELDS } from './route-fields.js';

/** What a JSON Schema of routes cannot say: a file that is refused for one of these reasons alone may fit the schema. */
export const BEYOND_THE_ROUTES_SCHEMA: readonly { readonly code: RegExp; readonly explanation: string }[] = [
  { code: /\.name\.repeated$/, explanation: 'Upstreams have different names, and so have routes.' },
  { code: /\.name\.not_one_of$/, explanation: 'No upstream and no route is called default.' },
  { code: /\.upstream\.not_one_of$/, explanation: 'The upstream of a route is one of the file.' },
  {
    code: /\.addresses\.(?:malformed|repeated)$/,
    explanation: 'An address has no credentials, path or query, and stands in its list once.',
  },
  { code: /\.paths\.(?:malformed|not_applicable)$/, explanation: 'Wildcards and dots stand only at certain places of a path pattern.' },
  { code: /\.hosts\.not_applicable$/, explanation: 'A lane has no hosts and no paths.' },
  { code: /\.route\.never_reached$/, explanation: 'No route stands behind one that takes everything.' },
  { code: /\.maxEjectMs\.out_of_range$/, explanation: 'The longest time of an ejection is not shorter than the first.' },
  {
    code: /\.(?:set|remove)\.(?:malformed|repeated)$/,
    explanation: 'Headers of the gateway are neither set nor removed, and none is both.',
  },
];

/** JSON Schema, draft 2020-12, of a file with routes. */
export function routesSchema(): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Routes',
    description: 'Routes of a gateway of Tollgate to its upstreams, as a file.',
    $comment: `Not everything can be said here. ${BEYOND_THE_ROUTES_SCHEMA.map(({ explanation }) => explanation).join(' ')}`,
    ...objectSchema(ROUTES_FIELDS),
  };
}
