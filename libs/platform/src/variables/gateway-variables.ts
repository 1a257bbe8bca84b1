import { ANSWER_VARIABLES } from './answer-variables.js';
import { IDENTITY_VARIABLES } from './identity-variables.js';
import { OVERLOAD_VARIABLES } from './overload-variables.js';
import { parsePathExceptions } from './path-exceptions.js';
import { RETRY_VARIABLES } from './retry-variables.js';
import { SEEING_VARIABLES } from './seeing-variables.js';
import { STORE_VARIABLES } from './store-variables.js';
import { TLS_VARIABLES } from './tls-variables.js';
import { parseTrustedProxies } from './trusted-proxies.js';
import { UPSTREAM_VARIABLES } from './upstream-variables.js';
import { WEBSOCKET_VARIABLES } from './websocket-variables.js';
import { WORKER_VARIABLES } from './worker-variables.js';
import { wholeNumber, zeroOr, oneOf, host, port, expected, type Variable } from './variable.js';

export const UNKNOWN_MERCHANT_POLICIES = ['deny', 'default'] as const;
export type UnknownMerchantPolicy = (typeof UNKNOWN_MERCHANT_POLICIES)[number];

const PATH_POLICIES = ['strict', 'normalize'] as const;
export type PathPolicy = (typeof PATH_POLICIES)[number];

function filePath(text: string): string | undefined {
  if (text === '') return undefined;
  return text.length <= 4_096 && !text.includes('\0') ? text : expected('the path of a file, of at most 4096 characters');
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
  ...WORKER_VARIABLES,
  ...UPSTREAM_VARIABLES,
  trustedProxies: {
    name: 'TRUSTED_PROXIES',
    apps: ['gateway', 'decision-api'],
    default: '127.0.0.1/32,::1/128',
    meaning: 'peers whose X-Merchant-Id and X-Forwarded-For are believed: addresses and CIDR ranges, or none',
    parse: parseTrustedProxies,
  },
  countryHeader: {
    name: 'COUNTRY_HEADER',
    apps: ['gateway'],
    default: '',
    meaning: 'header in which trusted peers say the country of the client, like CF-IPCountry; empty: no rule knows a country',
    parse: (text: string): string =>
      /^[A-Za-z0-9-]{0,64}$/.test(text) ? text.toLowerCase() : expected('the name of a header: at most 64 letters, digits or -'),
  },
  countryFile: {
    name: 'GATEWAY_COUNTRY_FILE',
    apps: ['gateway'],
    default: '',
    meaning:
      'file in the format MaxMind DB that says in which country the address of a client is, where COUNTRY_HEADER does not; read again when it changes; empty: none',
    parse: filePath,
  },
  ...IDENTITY_VARIABLES,
  ...TLS_VARIABLES,
  pathPolicy: {
    name: 'PATH_POLICY',
    apps: ['gateway', 'decision-api'],
    default: 'strict',
    meaning:
      'what happens to a path that servers interpret differently: strict (400) or normalize (rewritten before rules and upstream see it)',
    parse: oneOf(PATH_POLICIES),
  },
  pathPolicyExceptions: {
    name: 'PATH_POLICY_EXCEPTIONS',
    apps: ['gateway', 'decision-api'],
    default: 'none',
    meaning: 'exceptions from the path policy, like encoded-slashes:/objects/**, separated by spaces; or none',
    parse: parsePathExceptions,
  },
  pathCaseSensitive: {
    name: 'PATH_CASE_SENSITIVE',
    apps: ['gateway', 'decision-api'],
    default: 'true',
    meaning: 'whether rules distinguish /a from /A: true, or false for an upstream that does not, like Express',
    parse: (text: string): boolean => oneOf(['true', 'false'])(text) === 'true',
  },
  upstreamCapacityPerSecond: {
    name: 'UPSTREAM_CAPACITY_PER_SECOND',
    apps: ['gateway'],
    default: '0',
    meaning:
      'requests a second that the upstream can handle, from all gateways together; elastic limits may use what is left of it; 0 turns them into hard ones',
    parse: wholeNumber(0, 10_000_000, ' requests a second'),
  },
  upstreamConnections: {
    name: 'UPSTREAM_CONNECTIONS',
    apps: ['gateway'],
    default: '256',
    meaning: 'maximum of connections to the upstream, each for one request at a time',
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
    meaning: 'milliseconds that the upstream has to begin its answer once it has the whole request',
    parse: wholeNumber(100, 3_600_000, ' milliseconds'),
  },
  upstreamIdleTimeoutMs: {
    name: 'UPSTREAM_IDLE_TIMEOUT_MS',
    apps: ['gateway'],
    default: '60000',
    meaning: 'maximum of milliseconds between two pieces of an answer of the upstream',
    parse: wholeNumber(100, 3_600_000, ' milliseconds'),
  },
  ...OVERLOAD_VARIABLES,
  merchantSharePercent: {
    name: 'MERCHANT_SHARE_PERCENT',
    apps: ['gateway'],
    default: '50',
    meaning:
      'how much one merchant may hold of the connections to the upstream, requests in flight and buffered bytes, in percent of what is free',
    parse: wholeNumber(1, 10_000, ' percent'),
  },
  maxInFlight: {
    name: 'MAX_IN_FLIGHT',
    apps: ['gateway', 'decision-api'],
    default: '10000',
    meaning: 'maximum of requests in flight',
    parse: wholeNumber(1, 1_000_000, ' requests'),
  },
  maxBufferedBytes: {
    name: 'MAX_BUFFERED_BYTES',
    apps: ['gateway', 'decision-api'],
    default: '67108864',
    meaning: 'maximum of bytes of request bodies that wait in memory',
    parse: wholeNumber(1_048_576, 17_179_869_184, ' bytes'),
  },
  maxConnections: {
    name: 'MAX_CONNECTIONS',
    apps: ['gateway', 'decision-api'],
    default: '20000',
    meaning: 'maximum of connections from clients',
    parse: wholeNumber(1, 1_000_000, ' connections'),
  },
  maxConnectionsPerPeer: {
    name: 'MAX_CONNECTIONS_PER_PEER',
    apps: ['gateway'],
    default: '256',
    meaning: 'maximum of connections from one peer that is no trusted proxy',
    parse: wholeNumber(1, 1_000_000, ' connections'),
  },
  ...WEBSOCKET_VARIABLES,
  clientHeadersTimeoutMs: {
    name: 'CLIENT_HEADERS_TIMEOUT_MS',
    apps: ['gateway', 'decision-api'],
    default: '10000',
    meaning: 'milliseconds that a client has to send the headers of a request',
    parse: wholeNumber(100, 600_000, ' milliseconds'),
  },
  minBodyBytesPerSecond: {
    name: 'MIN_BODY_BYTES_PER_SECOND',
    apps: ['gateway'],
    default: '1024',
    meaning: 'bytes a second that a client has to send of a body, or read of an answer; 0 allows any rate',
    parse: wholeNumber(0, 1_000_000_000, ' bytes a second'),
  },
  requestBodyGraceMs: {
    name: 'REQUEST_BODY_GRACE_MS',
    apps: ['gateway'],
    default: '10000',
    meaning: 'milliseconds that a client may stop sending a request body, or be slower than the minimum rate',
    parse: wholeNumber(100, 3_600_000, ' milliseconds'),
  },
  responseBodyGraceMs: {
    name: 'RESPONSE_BODY_GRACE_MS',
    apps: ['gateway'],
    default: '30000',
    meaning: 'milliseconds that a client may stop reading an answer, or be slower than the minimum rate',
    parse: wholeNumber(100, 3_600_000, ' milliseconds'),
  },
  exchangeTimeoutMs: {
    name: 'EXCHANGE_TIMEOUT_MS',
    apps: ['gateway'],
    default: '3600000',
    meaning: 'maximum of milliseconds from the headers of a request to the end of its answer',
    parse: wholeNumber(1_000, 86_400_000, ' milliseconds'),
  },
  gatewaysExpected: {
    name: 'GATEWAYS_EXPECTED',
    apps: ['gateway', 'decision-api'],
    default: '1',
    meaning:
      'number of gateways among which limits of rules that say local are shared by a gateway that has never reached Redis; later it uses the number that it found alive',
    parse: wholeNumber(1, 1000, ' gateways'),
  },
  unknownMerchant: {
    name: 'UNKNOWN_MERCHANT',
    apps: ['gateway', 'decision-api'],
    default: 'deny',
    meaning: 'what happens to requests of an id that no merchant has: deny (403) or default (the default rules)',
    parse: oneOf(UNKNOWN_MERCHANT_POLICIES),
  },
  unknownLookupsPerSecond: {
    name: 'UNKNOWN_LOOKUPS_PER_SECOND',
    apps: ['gateway', 'decision-api'],
    default: '60',
    meaning: 'look-ups a second in PostgreSQL that may find no merchant; beyond them requests of unknown ids get 503',
    parse: wholeNumber(1, 100_000, ' look-ups a second'),
  },
  unknownLookupsPerPeer: {
    name: 'UNKNOWN_LOOKUPS_PER_PEER',
    apps: ['gateway', 'decision-api'],
    default: '15',
    meaning: 'look-ups a second in PostgreSQL that may find no merchant, for one client address',
    parse: wholeNumber(1, 100_000, ' look-ups a second'),
  },
  ruleCacheMb: {
    name: 'RULE_CACHE_MB',
    apps: ['gateway', 'decision-api'],
    default: '128',
    meaning: 'estimated megabytes that the rules of merchants may take in a gateway; never more than a quarter of its heap',
    parse: wholeNumber(1, 65_536, ' megabytes'),
  },
  usageFlushMs: {
    name: 'USAGE_FLUSH_MS',
    apps: ['gateway', 'decision-api'],
    default: '5000',
    meaning:
      'milliseconds between two times at which numbers of requests are told to Redis, by merchant, rule and minute; 0 turns them off',
    parse: zeroOr(1_000, 60_000, ' milliseconds'),
  },
  receiptsPerSecond: {
    name: 'RECEIPTS_PER_SECOND',
    apps: ['gateway', 'decision-api'],
    default: '200',
    meaning: 'receipts of decisions that this gateway writes in a second at most; 0 turns them off',
    parse: wholeNumber(0, 2_000, ' receipts a second'),
  },
  receiptsPerMerchant: {
    name: 'RECEIPTS_PER_MERCHANT',
    apps: ['gateway', 'decision-api'],
    default: '20',
    meaning: 'receipts of one merchant in a minute, from all gateways together; 25 times as many at once',
    parse: wholeNumber(1, 10_000, ' receipts a minute'),
  },
  receiptsPassedOneIn: {
    name: 'RECEIPTS_PASSED_ONE_IN',
    apps: ['gateway', 'decision-api'],
    default: '1000',
    meaning: 'of how many requests that passed one gets a receipt; 0: of none',
    parse: wholeNumber(0, 1_000_000_000, ' requests'),
  },
  receiptsKept: {
    name: 'RECEIPTS_KEPT',
    apps: ['gateway', 'decision-api'],
    default: '100000',
    meaning: 'receipts that Redis keeps for a day, of all merchants together; set the same value in each gateway',
    parse: wholeNumber(100, 10_000_000, ' receipts'),
  },
  ...RETRY_VARIABLES,
  ...ANSWER_VARIABLES,
  ...SEEING_VARIABLES,
  ...STORE_VARIABLES,
  drainDelayMs: {
    name: 'DRAIN_DELAY_MS',
    apps: ['gateway', 'decision-api'],
    default: '0',
    meaning: 'milliseconds after SIGTERM in which the gateway is unready and still serves, at most half of SHUTDOWN_GRACE_MS',
    parse: wholeNumber(0, 300_000, ' milliseconds'),
  },
} as const satisfies Record<string, Variable<unknown>>;
