import { expected, isSecureUrl, oneOf, type Variable, visibleText, wholeNumber } from './variable.js';

const IDENTITY_KINDS = ['header', 'api-key', 'jwt', 'certificate'] as const;
export type IdentityKind = (typeof IDENTITY_KINDS)[number];

/** The headers in which a proxy says the certificate of its client; empty: none does. */
const CLIENT_CERT_HEADERS = ['', 'client-cert', 'x-forwarded-client-cert'] as const;

/** The parts of a certificate that may name a merchant. */
export const CERTIFICATE_PARTS = ['san-uri', 'san-dns', 'cn'] as const;

function identityKinds(text: string): readonly IdentityKind[] {
  const kinds = text.split(',').map((kind) => IDENTITY_KINDS.find((each) => each === kind.trim()));
  return kinds.every((kind) => kind !== undefined) && new Set(kinds).size === kinds.length
    ? kinds
    : expected(`some of ${IDENTITY_KINDS.join(', ')}, each once, separated by commas`);
}

/** What the gateway knows or sets itself, or must not take away. */
const NO_KEY_HEADER =
  /^(?:host|authorization|cookie|date|via|accept.*|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|origin|forwarded|proxy.*|http2-.*|client-cert.*|ratelimit.*|x-(?:merchant-id|user-id|request-id|forwarded-.*|real-ip|original-url|rewrite-url|ratelimit-.*))$/i;

function apiKeyHeader(text: string): string {
  return /^[A-Za-z0-9-]{0,64}$/.test(text) && !NO_KEY_HEADER.test(text)
    ? text.toLowerCase()
    : expected('the name of a header that has no other meaning, like X-Api-Key: at most 64 letters, digits or -');
}

function optionalUrl(text: string): string | undefined {
  if (text === '') return undefined;
  return isSecureUrl(text) ? text : expected('an https URL; http only of this machine');
}

function optionalText(text: string): string | undefined {
  return text === '' ? undefined : visibleText(text);
}

function optionalClaim(text: string): string {
  return text === 'none' ? '' : visibleText(text);
}

const FOR_JWT = { key: 'identity', has: 'jwt' } as const;

/** By what the gateway knows merchants. */
export const IDENTITY_VARIABLES = {
  identity: {
    name: 'IDENTITY',
    apps: ['gateway'],
    default: 'header',
    meaning:
      'by what merchants are known, in order and separated by commas: header (X-Merchant-Id from trusted peers), api-key (Authorization: Bearer tgk_…), jwt (Authorization: Bearer eyJ…) and certificate (of the client, by TLS)',
    parse: identityKinds,
  },
  apiKeyHeader: {
    name: 'GATEWAY_API_KEY_HEADER',
    apps: ['gateway'],
    default: '',
    meaning: 'header in which API keys of merchants come as well, like X-Api-Key; it is not forwarded; empty: in Authorization only',
    parse: apiKeyHeader,
  },
  jwtJwksUrl: {
    name: 'JWT_JWKS_URL',
    apps: ['gateway'],
    default: '',
    requiredIf: FOR_JWT,
    meaning: 'where the issuer of JWTs publishes its keys, as a JSON Web Key Set',
    parse: optionalUrl,
  },
  jwtIssuer: {
    name: 'JWT_ISSUER',
    apps: ['gateway'],
    default: '',
    requiredIf: FOR_JWT,
    meaning: 'issuer of the JWTs by which merchants are known, exactly as it stands in them',
    parse: optionalText,
  },
  jwtAudience: {
    name: 'JWT_AUDIENCE',
    apps: ['gateway'],
    default: '',
    requiredIf: FOR_JWT,
    meaning: 'audience that such a JWT must be made for',
    parse: optionalText,
  },
  jwtMerchantClaim: {
    name: 'JWT_MERCHANT_CLAIM',
    apps: ['gateway'],
    default: 'merchant',
    meaning: 'claim of a JWT that names the merchant; a path like realm_access.merchant leads into objects',
    parse: visibleText,
  },
  jwtUserClaim: {
    name: 'JWT_USER_CLAIM',
    apps: ['gateway'],
    default: 'sub',
    meaning: "claim of a JWT that names the merchant's user, or none",
    parse: optionalClaim,
  },
  jwtClockSkewSeconds: {
    name: 'JWT_CLOCK_SKEW_SECONDS',
    apps: ['gateway'],
    default: '30',
    meaning: 'seconds by which the clocks of the issuer of JWTs and of this machine may differ',
    parse: wholeNumber(0, 300, ' seconds'),
  },
  clientCertHeader: {
    name: 'CLIENT_CERT_HEADER',
    apps: ['gateway'],
    default: '',
    meaning:
      'header in which trusted peers say the certificate of their client: Client-Cert (RFC 9440) or X-Forwarded-Client-Cert (Envoy); empty: none does',
    parse: (text: string) =>
      CLIENT_CERT_HEADERS.find((header) => header === text.toLowerCase()) ?? expected('Client-Cert or X-Forwarded-Client-Cert'),
  },
  clientCertMerchant: {
    name: 'CLIENT_CERT_MERCHANT',
    apps: ['gateway'],
    default: 'san-uri',
    meaning: 'part of a client certificate that names the merchant: san-uri, san-dns or cn',
    parse: oneOf(CERTIFICATE_PARTS),
  },
  clientCertPrefix: {
    name: 'CLIENT_CERT_PREFIX',
    apps: ['gateway'],
    default: '',
    meaning: 'what the name in that part begins with, like spiffe://example.org/merchant/; the rest is the id of the merchant',
    parse: (text: string): string => (text === '' ? '' : visibleText(text)),
  },
  jwtForward: {
    name: 'JWT_FORWARD',
    apps: ['gateway'],
    default: 'false',
    meaning: 'whether the upstream gets bearer tokens where IDENTITY has jwt: true or false',
    parse: (text: string): boolean => oneOf(['true', 'false'])(text) === 'true',
  },
} as const satisfies Record<string, Variable<unknown>>;
