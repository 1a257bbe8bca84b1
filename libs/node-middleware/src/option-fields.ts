import { isMerchantId, MERCHANT_ID_EXPECTED, textFormat, type CustomField, type Fields } from '#limiter';
import {
  DEFAULT_PROBLEM_TYPE_BASE,
  parseIpRange,
  parsePathExceptions,
  problemTypeBase,
  RATE_LIMIT_HEADER_STYLES,
  RATE_LIMIT_RESETS,
  redisUrl,
  storeUrl,
  UNKNOWN_MERCHANT_POLICIES,
} from '#platform';

/** The tables of fields of `options.ts`, with bounds and defaults. */

const custom = (expected: string, fits: (value: unknown) => boolean, explanation: string): CustomField => ({
  kind: 'custom',
  check: (value, { pointer, code }) => (fits(value) ? [] : [{ pointer, code: `${code}.wrong_type`, detail: expected }]),
  schema: {},
  explanation,
});

const isFunction = (value: unknown): boolean => typeof value === 'function';
const hasFunctions = (value: unknown, names: readonly string[]): boolean =>
  typeof value === 'object' && value !== null && names.every((name) => isFunction((value as Record<string, unknown>)[name]));

const told = (explanation: string): CustomField => custom('must be a function of the request', isFunction, explanation);

const LIST = custom('must be a list of at most 100 rules', (value) => Array.isArray(value) && value.length <= 100, 'Rules in code.');

/** Whether a parser of the configuration takes a text. */
const parses = (parse: (text: string) => unknown) => (text: string) => {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
};

/** It may have a password, so a message does not quote it. */
const url = (protocols: readonly string[], example: string, explanation: string): CustomField => {
  const fits = parses(storeUrl(protocols, example));
  return custom(`must be a URL like ${example}`, (value) => typeof value === 'string' && fits(value), explanation);
};

/** Nor does that of a Redis. */
const REDIS = custom(
  'must be a URL like redis://127.0.0.1:6379',
  (value) => typeof value === 'string' && parses(redisUrl)(value),
  'The Redis with the buckets.',
);

const MOST_TIMES = 1_000_000_000;

export const REQUEST_FIELDS = {
  merchant: custom(
    `must be a function of the request, or the id of a merchant: ${MERCHANT_ID_EXPECTED}`,
    (value) => isFunction(value) || isMerchantId(value),
    'Which merchant makes a request.',
  ),
  user: told('Which user of the merchant.'),
  apiKey: told('The id and the labels of the API key.'),
  jwt: told('The claims of the token.'),
  ip: told('The address of the client.'),
  country: told('The country of the client.'),
  cost: custom(
    'must be a function of the request, or a whole number from 0 to 1000000000',
    (value) => isFunction(value) || isCost(value),
    'For how many requests one counts.',
  ),
  skip: custom(
    'must be a function of the request, true, or false',
    (value) => isFunction(value) || typeof value === 'boolean',
    'Whether to decide at all.',
  ),
} as const satisfies Fields;

export function isCost(value: unknown): value is number {
  return isWithin(value, 0, MOST_TIMES);
}

function isWithin(value: unknown, min: number, max: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
}

const ROUTE_TEXT = textFormat(
  'must be 1 to 128 visible ASCII characters or spaces',
  (text) => /^[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/.test(text),
  {},
);

const anything = custom('', () => true, 'Looked at with the rule that is made of it.');

export const ROUTE_FIELDS = {
  ...REQUEST_FIELDS,
  route: { kind: 'text', format: ROUTE_TEXT, explanation: 'The name under which rules see the route.' },
  limit: anything,
  windowMs: anything,
  key: anything,
  rules: LIST,
} as const satisfies Fields;

export const OPTION_FIELDS = {
  ...REQUEST_FIELDS,
  redisUrl: { ...REDIS, required: true },
  databaseUrl: url(['postgres:', 'postgresql:'], 'postgres://user:password@127.0.0.1:5432/tollgate', 'The PostgreSQL with the rules.'),
  storedRules: { kind: 'truth', default: true, explanation: 'Whether there are rules in Redis.' },
  rules: { ...LIST, default: [] },
  unknownMerchant: {
    kind: 'choice',
    values: UNKNOWN_MERCHANT_POLICIES,
    default: 'deny',
    explanation: 'What happens to ids that no merchant has.',
  },
  trustedProxies: {
    kind: 'list',
    of: {
      kind: 'text',
      format: textFormat('must be an address or a CIDR range like 10.0.0.0/8', (text) => parseIpRange(text) !== undefined, {}),
      explanation: 'An address or a CIDR range.',
    },
    min: 0,
    max: 100,
    default: ['127.0.0.1/32', '::1/128'],
    explanation: 'Proxies that are believed about merchant and client.',
  },
  pathCaseSensitive: { kind: 'truth', explanation: 'Whether rules tell upper from lower case in paths.' },
  pathPolicyExceptions: {
    kind: 'text',
    format: textFormat(
      'must be exceptions like encoded-slashes:/objects/**, separated by spaces, or none',
      parses(parsePathExceptions),
      {},
    ),
    default: 'none',
    explanation: 'What of ambiguous paths is not refused.',
  },
  rateLimitHeaders: { kind: 'choice', values: RATE_LIMIT_HEADER_STYLES, default: 'draft', explanation: 'Which headers tell of limits.' },
  rateLimitReset: { kind: 'choice', values: RATE_LIMIT_RESETS, default: 'seconds', explanation: 'How X-RateLimit-Reset is written.' },
  problemTypeBase: {
    kind: 'text',
    format: textFormat('must be a URL like https://docs.example/problems/, without query and fragment', parses(problemTypeBase), {}),
    default: DEFAULT_PROBLEM_TYPE_BASE,
    explanation: 'What the types of problems begin with.',
  },
  storeTimeoutMs: { kind: 'whole_number', min: 5, max: 10_000, default: 25, unit: 'milliseconds', explanation: 'How long Redis may take.' },
  leaseHorizonMs: {
    kind: 'whole_number',
    min: 100,
    max: 10_000,
    default: 1000,
    unit: 'milliseconds',
    explanation: 'How long tokens that were taken in advance last.',
  },
  leaseCacheMb: {
    kind: 'whole_number',
    min: 1,
    max: 65_536,
    default: 64,
    explanation: 'Memory for buckets of leased and optimistic rules.',
  },
  ruleCacheMb: { kind: 'whole_number', min: 1, max: 65_536, default: 128, explanation: 'Memory for the rules of merchants.' },
  gatewaysExpected: { kind: 'whole_number', min: 1, max: 1_000, default: 1, explanation: 'Processes that share limits.' },
  idempotencyWindowMs: custom(
    'must be 0, or a whole number of milliseconds from 1000 to 604800000',
    (value) => value === 0 || isWithin(value, 1_000, 604_800_000),
    'For how long retries of what was charged are not charged again.',
  ),
  idempotencyRetries: { kind: 'whole_number', min: 1, max: 100, default: 5, explanation: 'Retries of one request that are not charged.' },
  idempotencyKeysPerMerchant: {
    kind: 'whole_number',
    min: 1,
    max: 1_000_000,
    default: 10_000,
    unit: 'requests',
    explanation: 'Requests of a merchant in that time whose retries are not charged.',
  },
  maxWaiting: {
    kind: 'whole_number',
    min: 0,
    max: 100_000,
    default: 1_000,
    unit: 'requests',
    explanation: 'Requests that wait their turn.',
  },
  graceMs: { kind: 'whole_number', min: 0, max: 600_000, default: 10_000, unit: 'milliseconds', explanation: 'How long close waits.' },
  logger: custom('must have the functions info and warn', (value) => hasFunctions(value, ['info', 'warn']), 'A logger.'),
  registry: custom('must be a Registry of prom-client', (value) => hasFunctions(value, ['registerMetric', 'metrics']), 'Gets the metrics.'),
} as const satisfies Fields;
