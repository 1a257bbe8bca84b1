/** Every algorithm through the store: gathered takes against the same script one by one, and what a key costs Redis. */
import { createRedis } from '#limiter-redis';
import { ENDLESS_LIMITS } from './shared/algorithms.mjs';
import { figure, interleaved, median, rate, ratios } from './shared/figures.mjs';
import { gathered, oneByOne, prepareCall } from './shared/store-bed.mjs';

export const title = 'every algorithm through Redis, at 512 in flight over 100,000 buckets';

const SECONDS = 2;
const GOAL = { atLeast: 3.3 };

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, quick, say }) {
  /** @type {import('./shared/figures.mjs').Figure[]} */
  const figures = [];
  for (const [name, limit] of Object.entries(ENDLESS_LIMITS)) {
    const server = await workshop.redis();
    const redis = createRedis(server.url, 'queue-worker');
    try {
      const call = await prepareCall(server.url, limit);
      const empty = await usedMemory(redis);
      await gathered(workshop, server, 'tollgate', { warmupSeconds: 1, seconds: quick ? 1 : SECONDS, quick, limit });
      const bytes = ((await usedMemory(redis)) - empty) / (await redis.dbsize());
      const expected = (await oneByOne(workshop, server, call, 50_000)).perSecond;
      const results = await interleaved(rounds, {
        gathered: () => gathered(workshop, server, 'tollgate', { warmupSeconds: 2, seconds: SECONDS, quick, limit }),
        oneByOne: () => oneByOne(workshop, server, call, Math.ceil(expected * SECONDS)),
      });
      const perSecond = (/** @type {string} */ side) => (results[side] ?? []).map((result) => result.perSecond);
      const cpu = (results['gathered'] ?? []).map(({ redisBusy = NaN, perSecond: each }) => (1e6 * redisBusy) / each);
      say(
        `${name}: ${rate(median(perSecond('gathered')))}, ${median(cpu).toFixed(1)} us of Redis a take, ${Math.round(bytes)} bytes a key`,
      );
      figures.push(
        figure(`${name}: gathered / one by one`, ratios(perSecond('gathered'), perSecond('oneByOne')), {
          ...(['token_bucket', 'gcra'].includes(name) && { goal: GOAL }),
          details: results,
        }),
        figure('  takes', perSecond('gathered'), { unit: '/s' }),
        figure('  Redis CPU a take', cpu, { unit: 'us' }),
        figure('  a key in Redis', [bytes], { unit: 'B' }),
      );
    } finally {
      redis.disconnect();
      await server.stop();
    }
  }
  return figures;
}

/** @param {import('#limiter-redis').RedisConnection} redis */
async function usedMemory(redis) {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
}
