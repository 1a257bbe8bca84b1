import { type Fields, PATH_PATTERN, ROUTE_NAME, type SpecOf, textFormat } from '#limiter';
import { PATH_EXCEPTION_KINDS } from '#platform';
import { BALANCES, HeaderKind, headerKind, isTraceContext } from '../proxy/index.js';

const ADDRESS = textFormat(
  'must be an http, https or h2c URL of a server, without credentials, path or query, like http://10.0.0.7:9090',
  isAddress,
  {
    pattern: '^(?:https?|h2c)://',
    maxLength: 300,
  },
);

function isAddress(text: string): boolean {
  // Of schemes that it does not know, URL looks at little.
  const known = text.replace(/^h2c:/, 'http:');
  if (text.length > 300 || !/^https?:\/\//.test(known) || !URL.canParse(known)) return false;
  const { pathname, search, hash, username, password } = new URL(known);
  return pathname === '/' && search + hash + username + password === '';
}

const HOST_PATTERN = /^(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/;
const HOST = textFormat(
  'must be the name of a host in small letters and without a port, like api.example.com, or *.example.com for all below it',
  (text) => text.length <= 253 && HOST_PATTERN.test(text),
  { pattern: HOST_PATTERN.source, maxLength: 253 },
);

const CHECK_PATH_PATTERN = /^\/[\x21-\x22\x24-\x7e]{0,255}$/;
const CHECK_PATH = textFormat(
  'must be a path like /healthz, of at most 256 visible ASCII characters',
  (text) => CHECK_PATH_PATTERN.test(text),
  {
    pattern: CHECK_PATH_PATTERN.source,
  },
);

const HEADER_NAME_PATTERN = /^[A-Za-z0-9-]{1,64}$/;
/** Headers that say who is asking, what a limit allows, or where a message ends, are the gateway's own. */
const HEADER_NAME = textFormat(
  'must be a header of 1 to 64 letters, digits or - that says nothing about identity, forwarding, framing, limits or traces: those are set by the gateway',
  (text) => HEADER_NAME_PATTERN.test(text) && headerKind(text) === HeaderKind.Other && !isTraceContext(text),
  { pattern: HEADER_NAME_PATTERN.source },
);

const HEADER_VALUE_PATTERN = /^[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?$/;
const HEADER_VALUE = textFormat(
  'must be 1 to 1024 ASCII characters, without a space at either end',
  (text) => HEADER_VALUE_PATTERN.test(text),
  {
    pattern: HEADER_VALUE_PATTERN.source,
  },
);

const MS = 'milliseconds';

const PASSIVE_HEALTH_FIELDS = {
  failures: {
    kind: 'whole_number',
    min: 1,
    max: 1_000,
    default: 5,
    unit: 'requests',
    explanation:
      'So many calls in a row that fail eject an address: no connection, no headers in time, an answer that breaks off or is no HTTP.',
  },
  ejectMs: {
    kind: 'whole_number',
    min: 100,
    max: 3_600_000,
    default: 1_000,
    unit: MS,
    explanation:
      'How long an ejected address gets no request. Then it gets one: with its answer it is back, with a failure the time doubles.',
  },
  maxEjectMs: {
    kind: 'whole_number',
    min: 100,
    max: 3_600_000,
    default: 60_000,
    unit: MS,
    explanation: 'The longest such time.',
  },
} as const satisfies Fields;

const ACTIVE_HEALTH_FIELDS = {
  path: {
    kind: 'text',
    format: CHECK_PATH,
    required: true,
    example: '/healthz',
    explanation: 'What each address is asked for by GET. Any 2xx is healthy.',
  },
  intervalMs: { kind: 'whole_number', min: 100, max: 3_600_000, default: 5_000, unit: MS, explanation: 'From one check to the next.' },
  timeoutMs: { kind: 'whole_number', min: 10, max: 60_000, default: 1_000, unit: MS, explanation: 'For a whole check.' },
  failures: {
    kind: 'whole_number',
    min: 1,
    max: 1_000,
    default: 3,
    explanation: 'So many failed checks in a row take an address out.',
  },
  passes: { kind: 'whole_number', min: 1, max: 1_000, default: 2, explanation: 'So many passed checks in a row bring it back.' },
} as const satisfies Fields;

const UPSTREAM_FIELDS = {
  name: {
    kind: 'text',
    format: ROUTE_NAME,
    required: true,
    example: 'payments',
    explanation: 'Names the upstream: for routes, in metrics and in the log.',
  },
  addresses: {
    kind: 'list',
    of: { kind: 'text', format: ADDRESS, explanation: 'An address.' },
    min: 1,
    max: 64,
    required: true,
    example: ['http://10.0.0.7:9090', 'http://10.0.0.8:9090'],
    explanation: 'Servers that do the same. With h2c they are spoken to by HTTP/2 without TLS; all of an upstream, or none.',
  },
  balance: {
    kind: 'choice',
    values: BALANCES,
    default: 'least_requests',
    explanation: 'Which healthy address gets a request: the one with the fewest under way, or each in its turn.',
  },
  host: {
    kind: 'choice',
    values: ['original', 'upstream'],
    default: 'original',
    explanation: 'Which Host the upstream sees: the one of the client, or its own.',
  },
  connections: {
    kind: 'whole_number',
    min: 1,
    max: 65_535,
    explanation:
      'Most requests at a time, of all addresses together, each on a connection of its own; further ones wait. UPSTREAM_CONNECTIONS unless given.',
  },
  queueTimeoutMs: {
    kind: 'whole_number',
    min: 0,
    max: 60_000,
    unit: MS,
    explanation: 'How long a request waits for a connection before it is refused with 503. UPSTREAM_QUEUE_TIMEOUT_MS unless given.',
  },
  connectTimeoutMs: {
    kind: 'whole_number',
    min: 10,
    max: 60_000,
    default: 2_000,
    unit: MS,
    explanation: 'How long opening a connection may take, TLS included.',
  },
  headersTimeoutMs: {
    kind: 'whole_number',
    min: 100,
    max: 3_600_000,
    unit: MS,
    explanation: 'From the end of a request to the headers of the answer; then 504. UPSTREAM_RESPONSE_TIMEOUT_MS unless given.',
  },
  bodyIdleTimeoutMs: {
    kind: 'whole_number',
    min: 100,
    max: 3_600_000,
    unit: MS,
    explanation: 'Between two pieces of an answer; then it is cut off. UPSTREAM_IDLE_TIMEOUT_MS unless given.',
  },
  passiveHealth: {
    kind: 'object',
    fields: PASSIVE_HEALTH_FIELDS,
    nullable: true,
    default: {},
    explanation: 'When calls that fail eject an address. With null none is ejected. An address that is alone never is.',
  },
  activeHealth: {
    kind: 'object',
    fields: ACTIVE_HEALTH_FIELDS,
    nullable: true,
    default: null,
    explanation: 'Checks of every address. With null there are none.',
  },
} as const satisfies Fields;

const REWRITE_FIELDS = {
  set: {
    kind: 'map',
    keys: HEADER_NAME,
    values: HEADER_VALUE,
    max: 32,
    default: {},
    example: { 'X-Gateway': 'tollgate' },
    explanation: 'Headers that are put in place of any of the same name.',
  },
  remove: {
    kind: 'list',
    of: { kind: 'text', format: HEADER_NAME, explanation: 'The name of a header.' },
    min: 0,
    max: 32,
    default: [],
    example: ['Server'],
    explanation: 'Headers that are taken out.',
  },
} as const satisfies Fields;

export const ROUTE_FIELDS = {
  name: { kind: 'text', format: ROUTE_NAME, required: true, example: 'payments', explanation: 'Names the route: for rules that reroute.' },
  upstream: {
    kind: 'text',
    format: ROUTE_NAME,
    required: true,
    example: 'payments',
    explanation: 'The upstream of its requests, by name.',
  },
  hosts: {
    kind: 'list',
    of: { kind: 'text', format: HOST, explanation: 'A host.' },
    min: 0,
    max: 64,
    default: [],
    example: ['api.example.com'],
    explanation: 'The hosts whose requests it takes, by the Host header without its port. An empty list means any.',
  },
  paths: {
    kind: 'list',
    of: { kind: 'text', format: PATH_PATTERN, explanation: 'A path pattern.' },
    min: 0,
    max: 64,
    default: [],
    example: ['/transactions/**'],
    explanation: 'The paths whose requests it takes, as in rules, after the path policy. An empty list means any.',
  },
  lane: {
    kind: 'truth',
    default: false,
    explanation: 'A lane takes no requests but those that a rule reroutes to it.',
  },
  pathExceptions: {
    kind: 'list',
    of: { kind: 'choice', values: PATH_EXCEPTION_KINDS, explanation: 'What is let through.' },
    min: 0,
    max: 4,
    default: [],
    explanation: 'What the path policy lets through for requests of this route. Its paths then begin with a segment without wildcard.',
  },
  exchangeTimeoutMs: {
    kind: 'whole_number',
    min: 100,
    max: 86_400_000,
    unit: MS,
    explanation: 'From the headers of a request to the end of its answer. EXCHANGE_TIMEOUT_MS unless given.',
  },
  maxBodyBytes: {
    kind: 'whole_number',
    min: 0,
    max: 1_099_511_627_776,
    explanation: 'The longest body of a request, in bytes; longer ones get 413. No bound unless given.',
  },
  requestHeaders: {
    kind: 'object',
    fields: REWRITE_FIELDS,
    default: {},
    explanation: 'What is done to the headers of requests. Rules see them as they are forwarded.',
  },
  responseHeaders: {
    kind: 'object',
    fields: REWRITE_FIELDS,
    default: {},
    explanation: 'What is done to the headers of answers of the upstream. Answers of the gateway itself stay as they are.',
  },
} as const satisfies Fields;

/** The whole file. */
export const ROUTES_FIELDS = {
  version: { kind: 'whole_number', min: 1, max: 1, required: true, example: 1, explanation: 'The version of this format.' },
  upstreams: {
    kind: 'list',
    of: { kind: 'object', fields: UPSTREAM_FIELDS, explanation: 'An upstream.' },
    min: 1,
    max: 64,
    required: true,
    explanation: 'The upstreams, with different names.',
  },
  routes: {
    kind: 'list',
    of: { kind: 'object', fields: ROUTE_FIELDS, explanation: 'A route.' },
    min: 1,
    max: 500,
    required: true,
    explanation: 'The routes, with different names. The first one that a request fits takes it.',
  },
} as const satisfies Fields;

export type RoutesDocument = SpecOf<typeof ROUTES_FIELDS>;
