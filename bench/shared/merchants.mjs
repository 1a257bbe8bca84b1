/** Merchants as the benchmarks need them: many, alike, with one rule each or none. */
import { BUCKET_PREFIX } from '#limiter-redis';
import { merchantBucketKey, startLimits } from '#limiter';

/** Long enough ago that every bucket is full, as nearly all are in a running system. */
const RULES_SINCE_MS = Date.UTC(2026, 0, 1);

/** A rule as merchants have it: POST and GET of their transactions, a burst and a steady rate. */
const LIMIT = {
  name: 'steady',
  algorithm: 'token_bucket',
  capacity: 1000,
  refillTokens: 100,
  refillIntervalMs: 1000,
  refill: 'greedy',
  onEdit: 'as_is',
  throttle: 'hard',
};

/** So large that a benchmark never empties it: what is measured is passing, which costs more than refusing. */
const ENDLESS = { ...LIMIT, capacity: 1_000_000_000, refillTokens: 1_000_000, refillIntervalMs: 1000 };

/** Made once: what a benchmark invents must not be what it measures. */
const LIMITS = startLimits([/** @type {any} */ (LIMIT)], RULES_SINCE_MS);
const ENDLESS_LIMITS = startLimits([/** @type {any} */ (ENDLESS)], RULES_SINCE_MS);

/**
 * @param {number} index
 * @returns {string} twelve digits, as redis-benchmark makes its random numbers
 */
export const merchantId = (index) => `m${String(index).padStart(12, '0')}`;

/** Every merchant's rule has a number of its own, as in the database. */
export const ruleId = (/** @type {number} */ index) => String(1_000_000 + index);

/** Most conditions that a rule has. */
const MOST_CONDITIONS = 50;

/** So many conditions that all hold of the requests of a benchmark, of the kinds that rules have. @param {number} count @returns {any[]} */
function conditionsOf(count) {
  return Array.from({ length: count }, (_, i) => {
    switch (i % 5) {
      case 0:
        return { field: 'header.accept', equals: 'application/json' };
      case 1:
        return { field: 'ip', inRanges: [`10.${i}.0.0/16`, `2001:db8:${i}::/48`, '127.0.0.0/8'] };
      case 2:
        return { field: 'path', startsWith: '/transactions/' };
      case 3:
        return { field: 'header.user-agent', contains: [`agent-${i}`, 'bench'] };
      default:
        return { field: `query.q${i}`, absent: true };
    }
  });
}

/**
 * @param {number} index
 * @param {{ endless?: boolean, limit?: object, conditions?: number, consistency?: 'leased' }} [options]
 * @returns {import('../../libs/limiter/src/rule.js').Rule}
 */
export function ruleOf(index, { endless = false, limit, conditions = 0, consistency } = {}) {
  return {
    id: ruleId(index),
    name: 'transactions',
    layer: 'merchant',
    priority: 100,
    enabled: true,
    mode: 'enforce',
    match: { methods: ['GET', 'POST'], paths: ['/transactions/**'], ...(conditions > 0 && { all: conditionsOf(conditions) }) },
    key: ['merchant'],
    limits: limit ? startLimits([/** @type {any} */ (limit)], RULES_SINCE_MS) : endless ? ENDLESS_LIMITS : LIMITS,
    cost: 1,
    onStoreFailure: 'closed',
    ...(consistency && { consistency }),
  };
}

/**
 * @param {number} index
 * @param {{ id?: string, endless?: boolean, rules?: boolean, limit?: object, conditions?: number, consistency?: 'leased' }} [options]
 * @returns {import('../../libs/limiter/src/snapshot.js').MerchantSnapshot}
 */
export function snapshotOf(index, { id = merchantId(index), endless = false, rules = true, limit, conditions = 0, consistency } = {}) {
  return {
    merchantId: id,
    version: 1,
    exists: true,
    timeZone: 'UTC',
    rules: rules ? rulesOf(index, conditions, { endless, ...(limit && { limit }), ...(consistency && { consistency }) }) : [],
  };
}

/** The bucket of a merchant of `snapshotOf`. @param {number} index */
export const bucketKeyOf = (index) => BUCKET_PREFIX + merchantBucketKey(merchantId(index), ruleId(index), 0);

/**
 * One rule, and where it may not have so many conditions, others before it of which the last condition does not hold.
 * @param {number} index
 * @param {number} conditions of all of them together
 * @param {{ endless: boolean, limit?: object, consistency?: 'leased' }} options
 */
function rulesOf(index, conditions, options) {
  const rules = [ruleOf(index, { ...options, conditions: Math.min(conditions, MOST_CONDITIONS) })];
  for (let left = conditions - MOST_CONDITIONS; left > 0; left -= MOST_CONDITIONS) {
    const rule = ruleOf(index, options);
    const all = [...conditionsOf(Math.min(left, MOST_CONDITIONS) - 1), { field: 'method', equals: 'PUT' }];
    const before = { id: String(Number(rule.id) + 1_000_000 * rules.length), name: `before ${rules.length}`, priority: 100 + rules.length };
    rules.push({ ...rule, ...before, match: { ...rule.match, all } });
  }
  return rules;
}
