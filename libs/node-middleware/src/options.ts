import type { EnforcerLogger } from '#enforcement';
import type { RateLimitHeaderStyle, RateLimitReset, UnknownMerchantPolicy } from '#platform';
import type { Registry } from 'prom-client';
import type { CodeRule } from './code-rules.js';

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
  /** After which tokens that a leased rule has taken in advance end, if they are not renewed. Milliseconds. */
  readonly leaseHorizonMs?: number;
  /** For the buckets of leased and optimistic rules. */
  readonly leaseCacheMb?: number;
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
