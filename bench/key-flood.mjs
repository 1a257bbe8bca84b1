/** Ten million addresses, unless told otherwise, that come once each, under a rule that counts addresses apart: what they cost the gateway and Redis in memory, and other merchants in time. */
import { createRedis, RedisSnapshotStore } from '#limiter-redis';
import { setTimeout as sleep } from 'node:timers/promises';
import { asFastAsItCan, besideAFlood, floodFigures, halfOf, secondsOfTurns, secondStream } from './shared/beside-a-flood.mjs';
import { figure, megabytes, rate } from './shared/figures.mjs';
import { SNAPSHOT_TTL_MS, startGateway, startUpstream, warmUp } from './shared/http-bed.mjs';
import { ruleOf, snapshotOf } from './shared/merchants.mjs';
import { MemorySampler, residentBytes } from './shared/proc.mjs';

export const title = 'a flood of ten million distinct keys';

const FLOODED = 'flooded';
/** A bucket lives for twenty minutes after its one take: Redis gets full long before the first of them goes by itself, also where a machine is slow. */
const LIMIT = {
  name: 'by address',
  algorithm: 'token_bucket',
  capacity: 20,
  refillTokens: 20,
  refillIntervalMs: 20 * 1_200_000,
  refill: 'greedy',
};

const MAXMEMORY = 256 * 2 ** 20;
const QUICK_MAXMEMORY = 16 * 2 ** 20;
const PROGRESS_EVERY_MS = 60_000;
const SAMPLE_MS = 500;

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run(bench) {
  const { workshop, rounds, warmupSeconds, quick, say } = bench;
  const [redis, upstream] = [await workshop.redis(), await startUpstream(workshop)];
  const maxmemory = quick ? QUICK_MAXMEMORY : MAXMEMORY;
  const client = await boundedRedis(redis.url, maxmemory);
  const { server, ruled } = await startGateway(workshop, upstream, redis.url);
  await writeFlooded(client);
  await warmUp(workshop, server, { merchants: ruled, seconds: warmupSeconds });
  const asked = await halfOf(bench, server, ruled);
  say(`at most ${rate(asked.most)}; the merchants ask for ${rate(asked.measured)}, the second stream for ${rate(asked.stream)}`);

  const keys = quick ? Math.ceil(bench.keys / 100) : bench.keys;
  const memory = new MemorySampler(server.pid, SAMPLE_MS);
  const store = new StoreSampler(client);
  /** @param {object} settings */
  const streamOf = (settings) =>
    secondStream(workshop, server, { merchant: FLOODED, perSecond: asked.stream, merchants: ruled, ...settings });

  // First as fast as it can, so that Redis is full when the merchants are measured; a part of the addresses is left for them.
  const leftForTurns = Math.ceil(Math.min(keys / 2, secondsOfTurns(rounds) * asked.stream));
  const first = streamOf({ ids: keys - leftForTurns });
  await sleep(1000);
  asFastAsItCan(first.job);
  const progress = setInterval(
    () => void store.keys().then((text) => say(`${text}, gateway ${megabytes(residentBytes(server.pid) ?? 0)}`)),
    PROGRESS_EVERY_MS,
  );
  const before = await first.flooded;
  clearInterval(progress);
  say(`${before.answered} keys; Redis uses ${megabytes(await store.usedBytes())} and has evicted ${await store.evicted()}`);

  const rest = streamOf({ ids: leftForTurns, first: keys - leftForTurns });
  const measured = await besideAFlood(bench, server, ruled, asked.measured, rest.job);
  asFastAsItCan(rest.job);
  const statuses = sumOf(before.statuses, (await rest.flooded).statuses);
  const resident = Math.max(...memory.stop());
  const evicted = await store.evicted();
  const used = Math.max(...(await store.stop()));
  client.disconnect();
  say(
    `${keys} keys ${JSON.stringify(statuses)}, gateway ${megabytes(resident)}, Redis ${megabytes(used)} of ${megabytes(maxmemory)}, ` +
      `${evicted} evicted, p99 ${measured.quietMs.toFixed(2)} ms beside merchants, ${measured.floodedMs.toFixed(2)} ms beside the flood`,
  );
  const wrong = Object.entries(statuses).reduce((sum, [status, count]) => sum + (status === '200' || status === '429' ? 0 : count), 0);
  return [
    figure(`${keys.toLocaleString('en')} distinct keys: resident memory of the gateway`, [resident / 2 ** 20], {
      unit: 'MB',
      goal: { atMost: 400 },
      details: { keys, statuses, evicted },
    }),
    // It evicts before it takes a command: one that comes while it is full is beyond the bound until the next.
    figure('  memory of Redis / its maxmemory', [used / maxmemory], { goal: { atMost: 1.02 } }),
    figure('  share of the answers to the flood that are neither 200 nor 429', [wrong / keys], { goal: { atMost: 0.005 } }),
    ...floodFigures('  p99 of merchants at half load, beside the flood / beside as many requests of merchants', measured),
  ];
}

/** @param {Record<string, number>} some @param {Record<string, number>} more */
function sumOf(some, more) {
  const sum = { ...some };
  for (const [status, count] of Object.entries(more)) sum[status] = (sum[status] ?? 0) + count;
  return sum;
}

/** As docs/operations.md advises for a Redis that holds buckets. @param {string} url @param {number} maxmemory */
async function boundedRedis(url, maxmemory) {
  const redis = createRedis(url, 'queue-worker');
  await redis.config('SET', 'maxmemory-policy', 'volatile-ttl');
  await redis.config('SET', 'maxmemory', String(maxmemory));
  return redis;
}

/** @param {ReturnType<typeof createRedis>} redis */
async function writeFlooded(redis) {
  const rule = { ...ruleOf(0, { limit: LIMIT }), key: /** @type {any} */ (['merchant', 'ip']) };
  const store = new RedisSnapshotStore(redis);
  await store.write([{ ...snapshotOf(0, { id: FLOODED }), rules: [rule] }], SNAPSHOT_TTL_MS);
  await store.announce([FLOODED]);
}

/** Samples the memory of a Redis until stopped. */
class StoreSampler {
  /** @type {number[]} */
  #samples = [];
  #timer;
  #redis;

  /** @param {ReturnType<typeof createRedis>} redis */
  constructor(redis) {
    this.#redis = redis;
    this.#timer = setInterval(() => void this.usedBytes(), SAMPLE_MS);
  }

  async usedBytes() {
    const used = Number(/^used_memory:(\d+)/m.exec(await this.#redis.info('memory'))?.[1]);
    this.#samples.push(used);
    return used;
  }

  /** For the reader of a long run. */
  async keys() {
    return `Redis holds ${await this.#redis.dbsize()} keys in ${megabytes(await this.usedBytes())} and has evicted ${await this.evicted()}`;
  }

  async evicted() {
    return Number(/^evicted_keys:(\d+)/m.exec(await this.#redis.info('stats'))?.[1]);
  }

  async stop() {
    clearInterval(this.#timer);
    await this.usedBytes();
    return this.#samples;
  }
}
