/** How long and how often retries are not charged. */
export interface RetryPolicy {
  /** After the request that was charged. */
  readonly forMs: number;
  /** Retries of one request that are not charged; further ones are, as if they were new. */
  readonly mostRetries: number;
  /** Requests of one merchant that are remembered within that time; of further ones the retries are charged. */
  readonly mostRemembered: number;
}

/**
 * What became of a request whose retries may be known: it is a retry of one that was charged, so that it was asked as `takesOfRetry` says; or it was charged, and its
 * retries will be known.
 */
export type RetryState = 'retried' | 'marked';

/** By what a store knows retries of a request. */
export interface Retry extends RetryPolicy {
  /** Where it stands that such a request was charged. */
  readonly mark: string;
  /** Where the marks of the merchant are counted. */
  readonly counter: string;
}
