import { wholeNumber, zeroOr, type Variable } from './variable.js';

/** What is not charged of retries, in the order in which help texts print them. */
export const RETRY_VARIABLES = {
  idempotencyWindowMs: {
    name: 'IDEMPOTENCY_WINDOW_MS',
    apps: ['gateway'],
    default: '0',
    meaning: 'milliseconds for which retries of a request with an Idempotency-Key that was charged are not charged again; 0: all are',
    parse: zeroOr(1_000, 604_800_000, ' milliseconds'),
  },
  idempotencyRetries: {
    name: 'IDEMPOTENCY_RETRIES',
    apps: ['gateway'],
    default: '5',
    meaning: 'retries of one request that are not charged; further ones are',
    parse: wholeNumber(1, 100, ' retries'),
  },
  idempotencyKeysPerMerchant: {
    name: 'IDEMPOTENCY_KEYS_PER_MERCHANT',
    apps: ['gateway'],
    default: '10000',
    meaning: 'requests of a merchant in that time whose retries are not charged; those of further ones are',
    parse: wholeNumber(1, 1_000_000, ' requests'),
  },
} as const satisfies Record<string, Variable<unknown>>;
