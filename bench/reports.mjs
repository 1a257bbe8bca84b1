/** What a decision pays for usage and receipts: CPU time beside the same decision without them, on a store in memory. */
import { ReceiptQueue, UsageCounters } from '#enforcement';
import { MemoryBucketStore, merchantRules, RateLimiter, startLimits } from '#limiter';
import { figure, median } from './shared/figures.mjs';

export const title = 'what a decision pays for usage and receipts, 1,000 merchants';

const MERCHANTS = 1000;
const GOAL_NS = 1000;

/** @param {number} capacity */
const rule = (capacity) => ({
  id: '17',
  name: 'payments',
  layer: /** @type {const} */ ('merchant'),
  priority: 100,
  enabled: true,
  mode: /** @type {const} */ ('enforce'),
  match: { methods: [], paths: [] },
  key: [/** @type {const} */ ('merchant')],
  limits: startLimits(
    [{ name: 'burst', algorithm: 'token_bucket', capacity, refillTokens: 1, refillIntervalMs: 1000, refill: 'greedy' }],
    0,
  ),
  cost: 1,
  onStoreFailure: /** @type {const} */ ('closed'),
});

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ rounds, quick, say }) {
  const decisions = quick ? 20_000 : 1_000_000;
  return [
    ['passes', 100_000_000],
    ['is refused', 0],
  ].map(([what, capacity]) => {
    const more = Array.from({ length: rounds }, () => {
      const without = nanoseconds(Number(capacity), decisions, false);
      return nanoseconds(Number(capacity), decisions, true) - without;
    });
    say(`a request that ${what}: ${median(more).toFixed(0)} ns of CPU time more`);
    return figure(`a decision that ${what}`, more, { unit: 'ns', goal: { atMost: GOAL_NS } });
  });
}

/** CPU time of one decision. @param {number} capacity @param {number} decisions @param {boolean} reports */
function nanoseconds(capacity, decisions, reports) {
  const store = new MemoryBucketStore(Date.now);
  const limiter = new RateLimiter(store, store);
  const ids = Array.from({ length: MERCHANTS }, (_, i) => `merchant-${i}`);
  const rules = ids.map((id) => merchantRules(id, [rule(capacity)], []));
  const counters = new UsageCounters({ isMerchant: () => true });
  const queue = new ReceiptQueue({ perSecond: 200, passedOneIn: 1000, isMerchant: () => true, now: () => performance.now() });
  const before = process.cpuUsage();
  for (let i = 0; i < decisions; i++) {
    const at = i % MERCHANTS;
    const descriptor = { merchantId: /** @type {string} */ (ids[at]), ip: '192.0.2.7', method: 'GET', target: '/transactions' };
    limiter.check(/** @type {any} */ (rules[at]), descriptor, (outcome) => {
      if (!reports || outcome instanceof Error) return;
      counters.count(descriptor.merchantId, outcome);
      queue.offer('request', descriptor, outcome);
    });
    // As often as a gateway flushes that decides 20,000 times a second.
    if (i % 100_000 === 0) {
      counters.take();
      queue.take();
    }
  }
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / decisions;
}
