/**
 * Measures what merchants take in the heap of a gateway, and prints it beside the estimate by which the cache is bounded:
 * node --expose-gc rule-memory.mjs '{"merchants":2000,"own":1,"defaults":20,"limits":4,"requests":1}'
 */
import { startLimits } from '#limiter';
import { parseMerchantSnapshot, redisTake, snapshotText } from '#limiter-redis';
import { RuleCache } from '../../dist/libs/enforcement/src/rules/rule-cache.js';
import { packTakes } from '../../dist/libs/limiter-redis/src/buckets/take-call.js';

const { merchants, own, defaults, limits, requests, unknown = false, deny = false } = JSON.parse(process.argv[2] ?? '');

const NOW_MS = Date.UTC(2026, 0, 1);

function ruleOf(/** @type {number} */ id, /** @type {string} */ layer) {
  const specs = Array.from({ length: limits }, (_, i) => ({
    name: `limit ${i}`,
    algorithm: 'token_bucket',
    capacity: 10 + i,
    refillTokens: 5,
    refillIntervalMs: 1000,
    refill: 'greedy',
  }));
  return {
    id: String(id),
    name: `rule ${id}`,
    layer,
    priority: 100,
    enabled: true,
    mode: 'enforce',
    match: { methods: ['GET', 'POST'], paths: [`/route-${id % 20}/**`] },
    key: ['merchant'],
    limits: startLimits(/** @type {any} */ (specs), NOW_MS),
    cost: 1,
    onStoreFailure: 'local',
  };
}

const layers = ['platform', 'network', 'merchant', 'user'];
const defaultRules = {
  version: 1,
  rules: Array.from({ length: defaults }, (_, i) => ruleOf(i + 1, /** @type {string} */ (layers[i % 4]))),
};

const cache = new RuleCache({
  cold: {
    // As from Redis: each merchant has an object of its own.
    read: async (/** @type {string} */ merchantId) => {
      if (unknown) return null;
      const snapshot = {
        merchantId,
        version: 1,
        exists: true,
        timeZone: 'Etc/UTC',
        rules: Array.from({ length: own }, (_, i) => ruleOf(1000 + i, 'merchant')),
      };
      const found = parseMerchantSnapshot(snapshotText(/** @type {any} */ (snapshot)), merchantId);
      if (!('value' in found)) throw new Error(found.detail);
      return found.value;
    },
    readDefaultRules: async () => /** @type {any} */ (defaultRules),
  },
  defaultForUnknown: !deny,
  makeTake: redisTake,
  maxBytes: 2 ** 40,
});

async function fill(/** @type {number} */ first, /** @type {number} */ count) {
  for (let i = first; i < first + count; i++) {
    // As from a header: a text of its own.
    const merchantId = Buffer.from(`merchant-number-${i}`).toString();
    await cache.load(merchantId);
    for (let request = 0; request < requests; request++) {
      const rules = cache.get(merchantId);
      if (rules === undefined || rules === 'unknown_merchant') continue;
      const { enforced } = rules.choose({ merchantId, ip: '192.0.2.1', method: 'GET', target: `/route-${(request >> 1) % 20}/x` });
      const takes = enforced.flatMap(({ takes }) => takes?.limits ?? []);
      if (takes.length > 0) packTakes([{ takes, holder: 0, spare: false, withFormer: false }], NOW_MS, 'of server');
    }
    cache.get(merchantId);
  }
}

async function settled() {
  for (let i = 0; i < 3; i++) {
    /** @type {any} */ (globalThis).gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + Math.max(external, arrayBuffers);
}

await fill(0, 200);
const [bytes, estimate] = [await settled(), cache.bytes];
await fill(200, merchants);
console.log(JSON.stringify({ bytes: ((await settled()) - bytes) / merchants, estimate: (cache.bytes - estimate) / merchants }));
