/** One limit of each algorithm, so large that a benchmark never empties it: passing costs more than refusing. */

const ENDLESS = 1_000_000_000;

/** @type {Record<string, any>} */
export const ENDLESS_LIMITS = {
  token_bucket: {
    name: 'l',
    algorithm: 'token_bucket',
    capacity: ENDLESS,
    refillTokens: 1_000_000,
    refillIntervalMs: 1000,
    refill: 'greedy',
  },
  'token_bucket, interval': {
    name: 'l',
    algorithm: 'token_bucket',
    capacity: ENDLESS,
    refillTokens: 1_000_000,
    refillIntervalMs: 1000,
    refill: 'interval',
  },
  gcra: { name: 'l', algorithm: 'gcra', capacity: ENDLESS, refillTokens: 1_000_000, refillIntervalMs: 1000 },
  leaky_bucket: { name: 'l', algorithm: 'leaky_bucket', capacity: ENDLESS, drainTokens: 1_000_000, drainIntervalMs: 1000 },
  fixed_window: { name: 'l', algorithm: 'fixed_window', limit: ENDLESS, windowMs: 60_000, start: 'clock' },
  'sliding_counter, 1 part': { name: 'l', algorithm: 'sliding_counter', limit: ENDLESS, windowMs: 60_000, parts: 1 },
  'sliding_counter, 10 parts': { name: 'l', algorithm: 'sliding_counter', limit: ENDLESS, windowMs: 60_000, parts: 10 },
  // These two keep what they let pass: a window so short that a bucket holds a few.
  sliding_log: { name: 'l', algorithm: 'sliding_log', limit: 1_000, windowMs: 1_000 },
  concurrency: { name: 'l', algorithm: 'concurrency', limit: 1_000, slotTimeoutMs: 1_000 },
};
