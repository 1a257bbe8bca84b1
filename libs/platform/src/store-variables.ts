import { wholeNumber, type Variable } from './variable.js';

/** How gateways and decision APIs deal with the store of buckets. */
export const STORE_VARIABLES = {
  storeTimeoutMs: {
    name: 'STORE_TIMEOUT_MS',
    apps: ['gateway', 'decision-api'],
    default: '25',
    meaning: 'milliseconds that Redis has to answer a take before the rule acts by its onStoreFailure',
    parse: wholeNumber(5, 10_000, ' milliseconds'),
  },
  leaseHorizonMs: {
    name: 'LEASE_HORIZON_MS',
    apps: ['gateway', 'decision-api'],
    default: '1000',
    meaning: 'milliseconds after which tokens that a leased rule has taken in advance end, if they are not renewed',
    parse: wholeNumber(100, 10_000, ' milliseconds'),
  },
  leaseCacheMb: {
    name: 'LEASE_CACHE_MB',
    apps: ['gateway', 'decision-api'],
    default: '64',
    meaning: 'estimated megabytes for the buckets about which a process decides by itself',
    parse: wholeNumber(1, 65_536, ' megabytes'),
  },
} as const satisfies Record<string, Variable<unknown>>;
