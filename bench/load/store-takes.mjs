/**
 * Takes from buckets in Redis, always the same number at once, and prints what it saw as JSON:
 * With `madeWhenAsked` the take of a key is made anew each time, because millions of them would not fit into memory.
 * node store-takes.mjs tollgate|flexible '{"redisUrl":"redis://127.0.0.1:6379","keys":100000,"inFlight":512,"warmupMs":1000,"measureMs":5000}'
 */
import { Latencies } from './latencies.mjs';

const [subject = '', settings = ''] = process.argv.slice(2);
const { redisUrl, keys, inFlight, warmupMs, measureMs, limit, ruleIndex = 0, madeWhenAsked = false } = JSON.parse(settings);

/** @typedef {(key: number, done: (failed: boolean) => void) => void} Take failed: there was no answer */

const subjects = {
  /** The store as the gateway uses it. @returns {Promise<Take>} */
  async tollgate() {
    const { merchantRules } = await import('#limiter');
    const { createRedis, RedisBucketStore, redisTake } = await import('#limiter-redis');
    const { merchantId, ruleOf } = await import('../shared/merchants.mjs');
    const redis = createRedis(redisUrl, 'limiter');
    await new Promise((resolve) => redis.once('ready', resolve));
    const store = new RedisBucketStore(redis, limit ? { deadlineMs: 1_000 } : {});
    let holder = 0;
    const rule = ruleOf(ruleIndex, { endless: true, limit });
    const takesOf = (/** @type {number} */ i) => merchantRules(merchantId(i), [rule], [], { makeTake: redisTake }).takes();
    const takes = Array.from({ length: madeWhenAsked ? 0 : keys }, (_, i) => takesOf(i));
    return (key, done) =>
      store.take({ takes: takes[key] ?? takesOf(key), holder: ++holder, spare: false }, (outcome) => done(outcome instanceof Error));
  },

  /** @returns {Promise<Take>} */
  async flexible() {
    const { flexibleTake } = await import('../peers/flexible.mjs');
    const take = await flexibleTake(
      redisUrl,
      Array.from({ length: keys }, (_, i) => `m${i}`),
    );
    return (key, done) =>
      void take(key).then(
        () => done(false),
        () => done(true),
      );
  },
};

const take = await subjects[/** @type {keyof typeof subjects} */ (subject)]();
const latencies = new Latencies();
let failures = 0;
let measuring = false;

function next() {
  const askedAt = performance.now();
  take((Math.random() * keys) | 0, (failed) => {
    if (failed) {
      if (measuring) failures++;
      // A store that is away fails at once: asking again at once would leave no time for its recovery.
      setTimeout(next, 1);
    } else {
      if (measuring) latencies.add(performance.now() - askedAt);
      next();
    }
  });
}

for (let i = 0; i < inFlight; i++) next();

setTimeout(() => {
  measuring = true;
  const startedMs = performance.now();
  const cpuBefore = process.cpuUsage();
  console.log('measuring');
  setTimeout(() => {
    const seconds = (performance.now() - startedMs) / 1000;
    const { user, system } = process.cpuUsage(cpuBefore);
    console.log(
      JSON.stringify({
        perSecond: latencies.count / seconds,
        p50Ms: latencies.quantile(0.5),
        p99Ms: latencies.quantile(0.99),
        failures,
        clientBusy: (user + system) / 1e6 / seconds,
      }),
    );
    process.exit(0);
  }, measureMs);
}, warmupMs);
