/**
 * Decides through a whole enforcer, and prints decisions a second, time of a core for each, and takes and words about leases that went to Redis for each, as JSON:
 * node leases.mjs '{"redisUrl":"redis://...","consistency":"leased","merchants":100000,"measureMs":2000,"warmupMs":30000,"leaseHorizonMs":10000,"ruleCacheBytes":268435456}'
 */
import { Enforcer } from '#enforcement';
import { startLimits } from '#limiter';
import { Registry } from 'prom-client';

const { redisUrl, consistency, merchants, measureMs, warmupMs, leaseHorizonMs, ruleCacheBytes } = JSON.parse(process.argv[2] ?? '');

/** Requests that wait for Redis at a time, as of a gateway with so many connections. */
const AT_ONCE = 256;
/** The exponent of the traffic: the busiest merchant of 100,000 has a twelfth of it. */
const ZIPF = 1;
const DRAWN = 1_000_000;

/** So large that nobody is refused: one merchant alone asks for the most that a limit may refill. */
const LIMIT = {
  name: 'a second',
  algorithm: 'token_bucket',
  capacity: 1_000_000_000,
  refillTokens: 1_000_000,
  refillIntervalMs: 1000,
  refill: 'greedy',
};

const registry = new Registry();
const enforcer = new Enforcer({
  redisUrl,
  storedRules: false,
  logger: { info: () => {}, warn: () => {} },
  registry,
  storeTimeoutMs: 5000,
  leaseHorizonMs,
  ruleCacheBytes,
});
enforcer.rulesHere([
  {
    id: '1',
    name: 'hot',
    layer: 'merchant',
    priority: 100,
    enabled: true,
    mode: 'enforce',
    match: { methods: [], paths: [] },
    key: ['merchant'],
    limits: startLimits(/** @type {any} */ ([LIMIT]), 0),
    cost: 1,
    onStoreFailure: 'closed',
    consistency,
  },
]);
await enforcer.open();

const descriptors = Array.from({ length: merchants }, (_, i) => ({ merchantId: `m${i}`, ip: '192.0.2.7', method: 'GET', target: '/' }));
const asked = drawn();

/** The indexes of merchants in the order in which they ask. */
function drawn() {
  const sums = new Float64Array(merchants);
  let sum = 0;
  for (let i = 0; i < merchants; i++) sums[i] = sum += 1 / (i + 1) ** ZIPF;
  return Uint32Array.from({ length: DRAWN }, () => {
    const at = Math.random() * sum;
    let [low, high] = [0, merchants - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (/** @type {number} */ (sums[middle]) < at) low = middle + 1;
      else high = middle;
    }
    return low;
  });
}

let next = 0;
let made = 0;
let refused = 0;

/** @param {number} forMs */
async function decideFor(forMs) {
  const endMs = performance.now() + forMs;
  const load = { underWay: 0 };
  /** @type {() => void} */
  let wake = () => {};
  const answered = (/** @type {{ allowed: boolean }} */ { allowed }) => {
    made++;
    if (!allowed) refused++;
    if (--load.underWay === AT_ONCE / 2) wake();
  };
  while (performance.now() < endMs) {
    for (let i = 0; i < AT_ONCE && load.underWay < AT_ONCE; i++) {
      load.underWay++;
      enforcer.check(/** @type {any} */ (descriptors[asked[next++ % DRAWN] ?? 0]), answered);
    }
    // Timers and answers of Redis get their turn.
    await new Promise((resolve) => (load.underWay < AT_ONCE ? setImmediate(resolve) : (wake = () => resolve(undefined))));
  }
  while (load.underWay > 0) await new Promise((resolve) => setImmediate(resolve));
}

const toRedis = async () => {
  const text = await registry.metrics();
  const read = (/** @type {RegExp} */ pattern) => Number(pattern.exec(text)?.[1] ?? 0);
  return {
    takes: read(/^tollgate_decisions_total\{reason="allowed",source="store"\} (\d+)/m),
    reports: read(/^tollgate_lease_reports_total (\d+)/m),
  };
};

await decideFor(warmupMs);
made = 0;
const before = await toRedis();
console.log('measuring');
const startMs = performance.now();
const cpuBefore = process.cpuUsage();
await decideFor(measureMs);
const cpu = process.cpuUsage(cpuBefore);
const seconds = (performance.now() - startMs) / 1000;
const after = await toRedis();
const takes = after.takes - before.takes;
const reports = after.reports - before.reports;
const cpuUsEach = (cpu.user + cpu.system) / made;
console.log(
  JSON.stringify({
    perSecond: made / seconds,
    cpuUsEach,
    takesEach: (takes + reports) / made,
    takes,
    reports,
    reportsPerSecond: reports / seconds,
    refused,
  }),
);
await enforcer.close();
