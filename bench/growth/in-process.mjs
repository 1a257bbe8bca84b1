/** Growth of what one process does: takes over more live keys, choices among more rules. */
import { join } from 'node:path';
import { createRedis, preloadBuckets } from '#limiter-redis';
import { ROOT } from '../../scripts/paths.mjs';
import { median } from '../shared/figures.mjs';
import { ruleOf, snapshotOf } from '../shared/merchants.mjs';
import { gathered } from '../shared/store-bed.mjs';

const KEYS = [1_000, 10_000, 100_000, 1_000_000, 5_000_000];
const RULES = [1, 10, 100, 1_000];
const CHUNK = 1_000;
const TTL_MS = 3_600_000;

/** @typedef {{ size: number, rounds: number[] }} Measured */

/**
 * CPU of Redis for a take from one of so many live buckets, each as likely as the others. Microseconds.
 * @param {import('../run.mjs').Bench} bench
 * @returns {Promise<Measured[]>}
 */
export async function takesByKeys(bench) {
  const server = await bench.workshop.redis();
  const redis = /** @type {import('ioredis').Redis} */ (createRedis(server.url, 'queue-worker'));
  try {
    return await takesOn(bench, server, redis);
  } finally {
    redis.disconnect();
    await server.stop();
  }
}

/**
 * @param {import('../run.mjs').Bench} bench
 * @param {{ url: string, pid: number }} server
 * @param {import('ioredis').Redis} redis
 */
async function takesOn({ workshop, rounds, seconds, warmupSeconds, quick, say }, server, redis) {
  const results = [];
  let filled = 0;
  for (const size of KEYS.map((keys) => (quick ? keys / 100 : keys))) {
    for (; filled < size; filled += CHUNK)
      await preloadBuckets(
        redis,
        Array.from({ length: CHUNK }, (_, i) => withOneBucket(filled + i)),
        TTL_MS,
      );
    /** @type {number[]} */
    const micros = [];
    for (let round = 0; round < rounds; round++) {
      const { perSecond, redisBusy = NaN } = await gathered(workshop, server, 'tollgate', {
        warmupSeconds,
        seconds,
        quick,
        keys: size,
        madeWhenAsked: true,
      });
      micros.push((1e6 * redisBusy) / perSecond);
    }
    say(`${size.toLocaleString('en')} live keys: ${median(micros).toFixed(2)} us of Redis a take`);
    results.push({ size, rounds: micros });
  }
  return results;
}

/** Its bucket is the one from which the load takes. @param {number} index */
const withOneBucket = (index) => ({ ...snapshotOf(index), rules: [ruleOf(0, { endless: true })] });

/**
 * CPU of a choice among so many rules of one merchant. Microseconds.
 * @param {import('../run.mjs').Bench} bench
 * @returns {Promise<Measured[]>}
 */
export async function choicesByRules({ workshop, rounds, seconds, say }) {
  /** @type {Measured[]} */
  const results = RULES.map((size) => ({ size, rounds: [] }));
  for (let round = 0; round < rounds; round++) {
    for (const result of results) {
      const args = [JSON.stringify({ rules: result.size, measureMs: seconds * 1000 })];
      const job = workshop.node(join(ROOT, 'bench', 'load', 'choosing.mjs'), { measured: true, args });
      const { micros } = JSON.parse(await job.line((line) => line.startsWith('{'), seconds * 3000 + 60_000));
      await job.ended;
      result.rounds.push(micros);
    }
  }
  for (const { size, rounds: micros } of results) say(`${size} rules: ${median(micros).toFixed(2)} us a choice`);
  return results;
}
