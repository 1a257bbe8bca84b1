import { expected, type Variable } from './variable.js';

export const IDENTITY_KINDS = ['header', 'api-key'] as const;
export type IdentityKind = (typeof IDENTITY_KINDS)[number];

function identityKinds(text: string): readonly IdentityKind[] {
  const kinds = text.split(',').map((kind) => IDENTITY_KINDS.find((each) => each === kind.trim()));
  return kinds.every((kind) => kind !== undefined) && new Set(kinds).size === kinds.length
    ? kinds
    : expected(`${IDENTITY_KINDS.join(' and ')}, each once, separated by a comma`);
}

/** What the gateway knows or sets itself, or must not take away. */
const NO_KEY_HEADER =
  /^(?:host|authorization|cookie|date|via|accept.*|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|origin|forwarded|proxy.*|http2-.*|client-cert.*|ratelimit.*|x-(?:merchant-id|user-id|request-id|forwarded-.*|real-ip|original-url|rewrite-url|ratelimit-.*))$/i;

function apiKeyHeader(text: string): string {
  return /^[A-Za-z0-9-]{0,64}$/.test(text) && !NO_KEY_HEADER.test(text)
    ? text.toLowerCase()
    : expected('the name of a header that has no other meaning, like X-Api-Key: at most 64 letters, digits or -');
}

/** By what the gateway knows merchants. */
export const IDENTITY_VARIABLES = {
  identity: {
    name: 'IDENTITY',
    apps: ['gateway'],
    default: 'header',
    meaning:
      'by what merchants are known, in order and separated by commas: header (X-Merchant-Id from trusted peers) and api-key (Authorization: Bearer tgk_…)',
    parse: identityKinds,
  },
  apiKeyHeader: {
    name: 'GATEWAY_API_KEY_HEADER',
    apps: ['gateway'],
    default: '',
    meaning: 'header in which API keys of merchants come as well, like X-Api-Key; it is not forwarded; empty: in Authorization only',
    parse: apiKeyHeader,
  },
} as const satisfies Record<string, Variable<unknown>>;
