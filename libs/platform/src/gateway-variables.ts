import { parsePathExceptions } from './path-exceptions.js';
import { parseTrustedProxies } from './trusted-proxies.js';
import { wholeNumber, oneOf, host, port, expected, type Variable } from './variable.js';

export const UNKNOWN_MERCHANT_POLICIES = ['deny', 'default'] as const;
export type UnknownMerchantPolicy = (typeof UNKNOWN_MERCHANT_POLICIES)[number];

export const PATH_POLICIES = ['strict', 'normalize'] as const;
export type PathPolicy = (typeof PATH_POLICIES)[number];

function upstreamUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const bare = url && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  return url && bare && /^https?:$/.test(url.protocol)
    ? url
    : expected('an http or https URL of a server, without credentials, path or query, like http://127.0.0.1:9090');
}

/** The variables that only the gateway reads, in the order in which help texts print them. */
export const GATEWAY_VARIABLES = {
  gatewayPort: {
    name: 'GATEWAY_PORT',
    apps: ['gateway'],
    default: '8080',
    meaning: 'port on which the gateway serves the upstream; 0 takes any free one',
    parse: port,
  },
  gatewayHost: {
    name: 'GATEWAY_HOST',
    apps: ['gateway'],
    default: '127.0.0.1',
    meaning: 'address on which the gateway serves the upstream; 0.0.0.0 for all, as containers need it',
    parse: host,
  },
  gatewayManagementPort: {
    name: 'GATEWAY_MANAGEMENT_PORT',
    apps: ['gateway'],
    default: '8081',
    meaning: "port of the gateway's health and metrics; 0 takes any free one",
    parse: port,
  },
  upstreamUrl: {
    name: 'UPSTREAM_URL',
    apps: ['gateway'],
    meaning: 'the server behind the gateway, http or https, without a path',
    parse: upstreamUrl,
  },
  trustedProxies: {
    name: 'TRUSTED_PROXIES',
    apps: ['gateway'],
    default: '127.0.0.1/32,::1/128',
    meaning: 'peers whose X-Merchant-Id and X-Forwarded-For are believed: addresses and CIDR ranges, or none',
    parse: parseTrustedProxies,
  },
  pathPolicy: {
    name: 'PATH_POLICY',
    apps: ['gateway'],
    default: 'strict',
    meaning: 'what happens to a path that servers read differently: strict (400) or normalize (rewritten before rules and upstream see it)',
    parse: oneOf(PATH_POLICIES),
  },
  pathPolicyExceptions: {
    name: 'PATH_POLICY_EXCEPTIONS',
    apps: ['gateway'],
    default: 'none',
    meaning: 'where paths may have what the policy would refuse, like encoded-slashes:/objects/**, separated by spaces; or none',
    parse: parsePathExceptions,
  },
  pathCaseSensitive: {
    name: 'PATH_CASE_SENSITIVE',
    apps: ['gateway'],
    default: 'true',
    meaning: 'whether rules tell /a from /A: true, or false for an upstream that does not, like Express',
    parse: (text: string): boolean => oneOf(['true', 'false'])(text) === 'true',
  },
  upstreamCapacityPerSecond: {
    name: 'UPSTREAM_CAPACITY_PER_SECOND',
    apps: ['gateway'],
    default: '0',
    meaning:
      'requests a second that the upstream can carry, from all gateways together; what is left of it elastic limits let pass; 0: they are hard',
    parse: wholeNumber(0, 10_000_000, ' requests a second'),
  },
  upstreamConnections: {
    name: 'UPSTREAM_CONNECTIONS',
    apps: ['gateway'],
    default: '256',
    meaning: 'connections to the upstream at most, each for one request at a time',
    parse: wholeNumber(1, 65_535, ' connections'),
  },
  upstreamQueueTimeoutMs: {
    name: 'UPSTREAM_QUEUE_TIMEOUT_MS',
    apps: ['gateway'],
    default: '1000',
    meaning: 'milliseconds that a request waits for a free connection to the upstream before it is refused with 503',
    parse: wholeNumber(0, 60_000, ' milliseconds'),
  },
  upstreamResponseTimeoutMs: {
    name: 'UPSTREAM_RESPONSE_TIMEOUT_MS',
    apps: ['gateway'],
    default: '30000',
    meaning: 'milliseconds that the upstream has to begin its answer to a whole request',
    parse: wholeNumber(100, 3_600_000, ' milliseconds'),
  },
  upstreamIdleTimeoutMs: {
    name: 'UPSTREAM_IDLE_TIMEOUT_MS',
    apps: ['gateway'],
    default: '60000',
    meaning: 'milliseconds between two pieces of an answer of the upstream',
    parse: wholeNumber(100, 3_600_000, ' milliseconds'),
  },
  merchantSharePercent: {
    name: 'MERCHANT_SHARE_PERCENT',
    apps: ['gateway'],
    default: '50',
    meaning: 'what one merchant may have of connections to the upstream, requests in flight and buffered bytes, in percent of what is free',
    parse: wholeNumber(1, 10_000, ' percent'),
  },
  maxInFlight: {
    name: 'MAX_IN_FLIGHT',
    apps: ['gateway'],
    default: '10000',
    meaning: 'requests in flight at most',
    parse: wholeNumber(1, 1_000_000, ' requests'),
  },
  maxBufferedBytes: {
    name: 'MAX_BUFFERED_BYTES',
    apps: ['gateway'],
    default: '67108864',
    meaning: 'bytes of request bodies at most that wait in memory',
    parse: wholeNumber(1_048_576, 17_179_869_184, ' bytes'),
  },
  maxConnections: {
    name: 'MAX_CONNECTIONS',
    apps: ['gateway'],
    default: '20000',
    meaning: 'connections from clients at most',
    parse: wholeNumber(1, 1_000_000, ' connections'),
  },
  maxConnectionsPerPeer: {
    name: 'MAX_CONNECTIONS_PER_PEER',
    apps: ['gateway'],
    default: '256',
    meaning: 'connections at most from a peer that is no trusted proxy',
    parse: wholeNumber(1, 1_000_000, ' connections'),
  },
  clientHeadersTimeoutMs: {
    name: 'CLIENT_HEADERS_TIMEOUT_MS',
    apps: ['gateway'],
    default: '10000',
    meaning: 'milliseconds that a client has to send the headers of a request',
    parse: wholeNumber(100, 600_000, ' milliseconds'),
  },
  minBodyBytesPerSecond: {
    name: 'MIN_BODY_BYTES_PER_SECOND',
    apps: ['gateway'],
    default: '1024',
    meaning: 'bytes a second that a client has to send of a body, or read of an answer; 0: any',
    parse: wholeNumber(0, 1_000_000_000, ' bytes a second'),
  },
  requestBodyGraceMs: {
    name: 'REQUEST_BODY_GRACE_MS',
    apps: ['gateway'],
    default: '10000',
    meaning: 'milliseconds that a client may be silent with a request body, or behind the least rate',
    parse: wholeNumber(100, 3_600_000, ' milliseconds'),
  },
  responseBodyGraceMs: {
    name: 'RESPONSE_BODY_GRACE_MS',
    apps: ['gateway'],
    default: '30000',
    meaning: 'milliseconds that a client may leave an answer unread, or be behind the least rate',
    parse: wholeNumber(100, 3_600_000, ' milliseconds'),
  },
  exchangeTimeoutMs: {
    name: 'EXCHANGE_TIMEOUT_MS',
    apps: ['gateway'],
    default: '3600000',
    meaning: 'milliseconds from the headers of a request to the end of its answer at most',
    parse: wholeNumber(1_000, 86_400_000, ' milliseconds'),
  },
  gatewaysExpected: {
    name: 'GATEWAYS_EXPECTED',
    apps: ['gateway'],
    default: '1',
    meaning:
      'gateways among which a gateway that has never reached Redis shares the limits of rules that say local; once it has, those that it found alive',
    parse: wholeNumber(1, 1000, ' gateways'),
  },
  unknownMerchant: {
    name: 'UNKNOWN_MERCHANT',
    apps: ['gateway'],
    default: 'deny',
    meaning: 'what happens to a merchant that nobody created: deny (403) or default (the default rules)',
    parse: oneOf(UNKNOWN_MERCHANT_POLICIES),
  },
  unknownLookupsPerSecond: {
    name: 'UNKNOWN_LOOKUPS_PER_SECOND',
    apps: ['gateway'],
    default: '60',
    meaning: 'ids a second that a gateway looks up in PostgreSQL and that turn out to be nobody; beyond it such requests get 503',
    parse: wholeNumber(1, 100_000, ' look-ups a second'),
  },
  unknownLookupsPerPeer: {
    name: 'UNKNOWN_LOOKUPS_PER_PEER',
    apps: ['gateway'],
    default: '15',
    meaning: 'the same for one client address',
    parse: wholeNumber(1, 100_000, ' look-ups a second'),
  },
  ruleCacheMb: {
    name: 'RULE_CACHE_MB',
    apps: ['gateway'],
    default: '128',
    meaning: 'megabytes that the rules of merchants may take in a gateway, by estimate, and never more than a quarter of its heap',
    parse: wholeNumber(1, 65_536, ' megabytes'),
  },
  storeTimeoutMs: {
    name: 'STORE_TIMEOUT_MS',
    apps: ['gateway'],
    default: '25',
    meaning: 'milliseconds that Redis has to answer a take before the rule acts by its onStoreFailure',
    parse: wholeNumber(5, 10_000, ' milliseconds'),
  },
  drainDelayMs: {
    name: 'DRAIN_DELAY_MS',
    apps: ['gateway'],
    default: '0',
    meaning: 'milliseconds after SIGTERM in which the gateway is unready and still serves; at most half of SHUTDOWN_GRACE_MS counts',
    parse: wholeNumber(0, 300_000, ' milliseconds'),
  },
} as const satisfies Record<string, Variable<unknown>>;
