import type { EnforcerLogger } from '#enforcement';
import { completed, isMerchantId, MERCHANT_ID_EXPECTED, objectFaults, textFormat, type CustomField, type Fields } from '#limiter';
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
  type PathException,
  type RateLimitHeaderStyle,
  type RateLimitReset,
  type UnknownMerchantPolicy,
} from '#platform';
import type { Registry } from 'prom-client';
import { rulesOfCode, type CodeRule } from './code-rules.js';
import { OptionsError, placed } from './options-error.js';

/** How a request of a framework tells something; undefined: it does not. It must answer at once: what takes longer belongs into a middleware before. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- each framework has requests of its own
export type Told<T> = (request: any) => T | undefined;

/** The facts of a request, and what is asked for it. What is said for one route goes before what is said for all. */
export interface RequestOptions {
  /** Which merchant makes a request, or one merchant for all. Unless given, the headers X-Merchant-Id and X-User-Id of trusted proxies, as a gateway reads them. */
  readonly merchant?: string | Told<string>;
  /** Which user of the merchant. */
  readonly user?: Told<string>;
  /** The id and the labels of the API key with which it came; never the key. */
  readonly apiKey?: Told<{ readonly id: string; readonly labels?: Readonly<Record<string, string>> }>;
  /** The claims of its token, once somebody has verified it. */
  readonly jwt?: Told<object>;
  /** The address of the client; the peer unless given, or what trusted proxies say in X-Forwarded-For. */
  readonly ip?: Told<string>;
  /** ISO 3166-1 alpha-2, in capitals. */
  readonly country?: Told<string>;
  /** For how many requests one counts; 1 unless given. */
  readonly cost?: number | Told<number>;
  /** A request for which this is true is not decided about. */
  readonly skip?: boolean | Told<boolean>;
}

/** What a route says of itself. */
export interface RouteOptions extends RequestOptions {
  /** The name under which rules see the route, as `header.x-tollgate-route`. */
  readonly route?: string;
  /** A rule for this route alone: so many requests in `windowMs`. */
  readonly limit?: number;
  readonly windowMs?: number;
  readonly key?: readonly string[];
  /** Rules for this route alone, in the language of rules. */
  readonly rules?: readonly CodeRule[];
}

export interface TollgateOptions extends RequestOptions {
  /** The Redis with the buckets: redis://, redis+sentinel://hosts/group or redis+cluster://hosts, or one of them as rediss. */
  readonly redisUrl: string;
  /** The PostgreSQL with the rules, which is asked about merchants that Redis does not know. Without it, such a merchant does not exist. */
  readonly databaseUrl?: string;
  /** False: this Redis has no rules of Tollgate, and the rules are those in the code of the service. */
  readonly storedRules?: boolean;
  /** Rules in code, for all merchants, beside what is stored. */
  readonly rules?: readonly CodeRule[];
  readonly unknownMerchant?: UnknownMerchantPolicy;
  /** Addresses and CIDR ranges of proxies that are believed about merchant and client. */
  readonly trustedProxies?: readonly string[];
  /** Whether rules tell upper from lower case in paths; as the framework does unless given. */
  readonly pathCaseSensitive?: boolean;
  /** As PATH_POLICY_EXCEPTIONS of a gateway. */
  readonly pathPolicyExceptions?: string;
  readonly rateLimitHeaders?: RateLimitHeaderStyle;
  readonly rateLimitReset?: RateLimitReset;
  /** What the types of problems begin with. One for the whole process. */
  readonly problemTypeBase?: string;
  /** How long Redis may take for a decision before rules act by their onStoreFailure. */
  readonly storeTimeoutMs?: number;
  readonly ruleCacheMb?: number;
  /** Among how many processes a limit is shared locally before any other has been heard of. */
  readonly gatewaysExpected?: number;
  /**
   * For how long retries of a request with an `Idempotency-Key` that was charged are not charged again, as IDEMPOTENCY_WINDOW_MS of a gateway; 0, unless given: all are.
   * For services that carry out such a request once.
   */
  readonly idempotencyWindowMs?: number;
  /** Retries of one request that are not charged. */
  readonly idempotencyRetries?: number;
  /** Requests of a merchant in that time whose retries are not charged. */
  readonly idempotencyKeysPerMerchant?: number;
  /** Requests that wait their turn in queues, at most. */
  readonly maxWaiting?: number;
  /** How long `close` waits for requests that are under way. */
  readonly graceMs?: number;
  /** A pino logger, or what looks like one. */
  readonly logger?: EnforcerLogger;
  /** Gets the metrics. */
  readonly registry?: Registry;
}

/** With every default, and with what is told of requests apart. */
export type TollgateSettings = Required<
  Pick<
    TollgateOptions,
    | 'redisUrl'
    | 'storedRules'
    | 'unknownMerchant'
    | 'trustedProxies'
    | 'rateLimitHeaders'
    | 'rateLimitReset'
    | 'problemTypeBase'
    | 'storeTimeoutMs'
    | 'ruleCacheMb'
    | 'gatewaysExpected'
    | 'idempotencyWindowMs'
    | 'idempotencyRetries'
    | 'idempotencyKeysPerMerchant'
    | 'maxWaiting'
    | 'graceMs'
  >
> &
  Pick<TollgateOptions, 'databaseUrl' | 'pathCaseSensitive' | 'logger' | 'registry'> & {
    readonly exceptions: readonly PathException[];
    readonly rules: ReturnType<typeof rulesOfCode>;
    readonly requests: RequestOptions;
  };

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

const REQUEST_FIELDS = {
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

const ROUTE_FIELDS = {
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

/** @throws OptionsError that names every wrong option */
export function settingsOf(options: TollgateOptions): TollgateSettings {
  const given = options as unknown as Readonly<Record<string, unknown>>;
  checkFields(given, OPTION_FIELDS, '');
  const { databaseUrl, storedRules, rules = [] } = options;
  if (storedRules === false && databaseUrl !== undefined)
    throw new OptionsError([{ at: 'databaseUrl', detail: 'goes with storedRules: true only: without stored rules nobody reads them' }]);
  if (storedRules === false && options.unknownMerchant !== undefined)
    throw new OptionsError([
      { at: 'unknownMerchant', detail: 'goes with storedRules: true only: without stored rules no merchant is unknown' },
    ]);
  const whole = completed(given, OPTION_FIELDS) as unknown as TollgateSettings & { readonly pathPolicyExceptions: string };
  return {
    ...whole,
    problemTypeBase: problemTypeBase(whole.problemTypeBase),
    exceptions: parsePathExceptions(whole.pathPolicyExceptions),
    rules: rulesOfCode(rules, (i) => `rules[${i}]`),
    requests: requestOptionsOf(options),
  };
}

/** What a route says, and the rules that it brings. */
export interface RouteSettings {
  readonly requests: RequestOptions;
  readonly route?: string | undefined;
  readonly rules: ReturnType<typeof rulesOfCode>;
}

/** Rules of one route go before those of a whole service, which have a priority of 100. */
const ROUTE_PRIORITY = 200;

/**
 * @param at where the options stand, for messages
 * @param usualRoute the name that the route has unless it says another one; without any it can have no rules
 * @throws OptionsError
 */
export function routeSettingsOf(options: RouteOptions, at: string, usualRoute?: string): RouteSettings {
  checkFields(options as Readonly<Record<string, unknown>>, ROUTE_FIELDS, at);
  const { limit, windowMs, key, rules = [], route = usualRoute } = options;
  const short = limit === undefined && windowMs === undefined ? [] : [{ limit, windowMs, ...(key !== undefined && { key }) } as CodeRule];
  if (key !== undefined && short.length === 0) throw new OptionsError([{ at: `${at}.key`, detail: 'goes with limit and windowMs' }]);
  if (short.length + rules.length > 0 && route === undefined)
    throw new OptionsError([{ at: `${at}.route`, detail: 'must be given where there are rules: it says whose they are' }]);
  const presets = { priority: ROUTE_PRIORITY, ...(route !== undefined && { route, name: route.slice(0, MOST_NAME) }) };
  return {
    requests: requestOptionsOf(options),
    route,
    rules: [...rulesOfCode(short, () => at, presets), ...rulesOfCode(rules, (i) => `${at}.rules[${i}]`, presets)],
  };
}

const MOST_NAME = 100;

function checkFields(value: unknown, fields: Fields, at: string): void {
  if (typeof value !== 'object' || value === null) throw new OptionsError([{ at, detail: 'must be an object' }]);
  const faults = objectFaults(value as Readonly<Record<string, unknown>>, fields, { pointer: '', code: 'options' });
  if (faults.length > 0) throw new OptionsError(placed(faults, at));
}

function requestOptionsOf(options: RequestOptions): RequestOptions {
  const given = Object.keys(REQUEST_FIELDS).filter((name) => options[name as keyof RequestOptions] !== undefined);
  return Object.fromEntries(given.map((name) => [name, options[name as keyof RequestOptions]])) as RequestOptions;
}
