/**
 * Decides in one process, without a store or with one in memory, and prints decisions a second as JSON:
 * node decisions.mjs pure '{"limit":{...},"measureMs":2000}'
 * node --expose-gc decisions.mjs tollgate|flexible|map '{"keys":1000000,"measureMs":2000}'
 */
import { bucketOf, clamped, decide, MemoryBucketStore, merchantBucketKey, startLimits, startState, takeAll } from '#limiter';

const [subject = '', settings = ''] = process.argv.slice(2);
const { limit: spec, keys: count = 0, measureMs } = JSON.parse(settings);

/** Decisions between two looks at the clock. */
const BATCH = 10_000;

/** @param {(n: number) => unknown} decide makes n decisions */
async function perSecond(decide) {
  for (const end = performance.now() + measureMs / 2; performance.now() < end;) await decide(BATCH);
  const started = performance.now();
  let made = 0;
  while (performance.now() - started < measureMs) {
    await decide(BATCH);
    made += BATCH;
  }
  return made / ((performance.now() - started) / 1000);
}

function pure() {
  const bucket = bucketOf(/** @type {import('../../libs/limiter/src/limits/limit.js').Limit} */ (startLimits([spec], 0)[0]));
  /** @type {import('../../libs/limiter/src/buckets/bucket.js').BucketState | undefined} */
  let state;
  const takes = [{ key: '', bucket, cost: 1 }];
  let nowMs = Date.now();
  return (/** @type {number} */ n) => {
    for (let i = 0; i < n; i++) {
      nowMs += 100;
      const nowUs = nowMs * 1000;
      const before = state === undefined ? startState(bucket, nowUs) : clamped(bucket, state, nowUs);
      /** @type {(import('../../libs/limiter/src/buckets/bucket.js').BucketState | undefined)[]} */
      const states = [before];
      const [level] = takeAll({ takes, holder: i, spare: false }, states, nowUs);
      decide(bucket, /** @type {import('../../libs/limiter/src/buckets/bucket.js').BucketLevel} */ (level), 1, states[0] !== undefined);
      state = states[0] ?? before;
    }
  };
}

/** @returns {Promise<{ fill: () => unknown, decide: (n: number) => unknown }>} */
async function inMemory() {
  const keys = Array.from({ length: count }, (_, i) => merchantBucketKey(`m${i}`, '17', 0));
  // Strings that were put together are flattened when they are first read: not while we measure.
  for (const key of keys) key.charCodeAt(3);
  const random = () => /** @type {string} */ (keys[(Math.random() * count) | 0]);
  if (subject === 'map') {
    /** @type {Map<string, number>} */
    const map = new Map();
    return {
      fill: () => keys.forEach((key) => map.set(key, 0)),
      decide(n) {
        for (let i = 0; i < n; i++) map.set(random(), i);
      },
    };
  }
  if (subject === 'flexible') {
    const { flexibleMemoryTake } = await import('../peers/flexible.mjs');
    const consume = flexibleMemoryTake();
    return {
      async fill() {
        for (const key of keys) await consume(key);
      },
      async decide(n) {
        for (let i = 0; i < n; i++) await consume(random());
      },
    };
  }
  const store = new MemoryBucketStore(Date.now, 2 * count);
  const numbers = {
    name: 'l',
    algorithm: 'token_bucket',
    capacity: 1_000_000_000,
    refillTokens: 1000,
    refillIntervalMs: 1000,
    refill: 'greedy',
  };
  const bucket = bucketOf(/** @type {any} */ (startLimits([/** @type {any} */ (numbers)], 0)[0]));
  const asked = { key: '', bucket, cost: 1 };
  const takes = [asked];
  let holder = 0;
  const answered = () => {};
  return {
    fill() {
      for (const key of keys) {
        asked.key = key;
        store.take({ takes, holder: ++holder, spare: false }, answered);
      }
    },
    decide(n) {
      for (let i = 0; i < n; i++) {
        asked.key = random();
        store.take({ takes, holder: ++holder, spare: false }, answered);
      }
    },
  };
}

if (subject === 'pure') {
  console.log(JSON.stringify({ perSecond: await perSecond(pure()) }));
} else {
  const { fill, decide } = await inMemory();
  const used = () => {
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = used();
  await fill();
  const bytesPerKey = (used() - before) / count;
  console.log(JSON.stringify({ perSecond: await perSecond(decide), bytesPerKey }));
}
process.exit(0);
