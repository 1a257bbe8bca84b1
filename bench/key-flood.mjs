/** Ten million addresses that come once each, under a rule that counts addresses apart: what they cost the gateway and Redis in memory, and other merchants in time. */
import { createRedis, RedisSnapshotStore } from '#limiter-redis';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../scripts/paths.mjs';
import { figure, median, megabytes, rate } from './shared/figures.mjs';
import { load, startGateway, startUpstream, warmUp } from './shared/http-bed.mjs';
import { ruleOf, snapshotOf } from './shared/merchants.mjs';
import { MemorySampler } from './shared/proc.mjs';

export const title = 'a flood of ten million distinct keys';

const KEYS = 10_000_000;
const FLOODED = 'flooded';
/** So slow that the buckets of a whole minute are there at once: Redis gets full long before the first of them goes by itself. */
const LIMIT = {
  name: 'by address',
  algorithm: 'token_bucket',
  capacity: 20,
  refillTokens: 20,
  refillIntervalMs: 600_000,
  refill: 'greedy',
};

const MAXMEMORY = 256 * 2 ** 20;
const QUICK_MAXMEMORY = 16 * 2 ** 20;

/**
 * The gateway is at half of what it can answer, always, as in unknown-merchants: the merchants that are measured ask for three quarters of that, and a
 * second stream for the rest, of other merchants when it is quiet and of the flood.
 */
const MEASURED = 0.375;
const SECOND_STREAM = 0.125;
const STREAM_CONNECTIONS = 32;
const LONGEST_FLOOD_MS = 3_600_000;

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const [redis, upstream] = [await workshop.redis(), await startUpstream(workshop)];
  const maxmemory = quick ? QUICK_MAXMEMORY : MAXMEMORY;
  const client = await boundedRedis(redis.url, maxmemory);
  const { server, ruled } = await startGateway(workshop, upstream, redis.url);
  await writeFlooded(client);
  await warmUp(workshop, server, { merchants: ruled, seconds: warmupSeconds });
  const full = await load(workshop, server, { merchants: ruled, seconds, warmupSeconds, limited: true, quick });
  const perSecond = Math.round(full.perSecond * MEASURED);
  const streamPerSecond = Math.round(full.perSecond * SECOND_STREAM);
  say(`at most ${rate(full.perSecond)}; the merchants ask for ${rate(perSecond)}, the second stream for ${rate(streamPerSecond)}`);

  const keys = quick ? KEYS / 100 : KEYS;
  const flood = { answered: 0, statuses: /** @type {Record<string, number>} */ ({}) };
  const memory = new MemorySampler(server.pid, 200);
  const store = new StoreSampler(client);
  /** @param {object} settings */
  const stream = (settings) => {
    const job = workshop.node(join(ROOT, 'bench', 'load', 'unknown-load.mjs'), {
      args: [JSON.stringify({ port: server.port, perSecond: streamPerSecond, connections: STREAM_CONNECTIONS, ids: keys, ...settings })],
    });
    return { job, result: job.line((line) => line.startsWith('{'), LONGEST_FLOOD_MS).then((line) => JSON.parse(line)) };
  };
  /** @param {(job: import('./shared/workshop.mjs').Job) => unknown} meanwhile */
  const floodWith = async (meanwhile) => {
    const { job, result } = stream({ ids: keys - flood.answered, first: flood.answered, merchant: FLOODED });
    await meanwhile(job);
    const { answered, statuses } = await result;
    flood.answered += answered;
    for (const [status, count] of Object.entries(statuses)) flood.statuses[status] = (flood.statuses[status] ?? 0) + Number(count);
  };
  const p99Ms = async () => {
    const { p99MsBySecond } = await load(workshop, server, { merchants: ruled, seconds, warmupSeconds, perSecond, limited: true, quick });
    return median(p99MsBySecond.slice(0, seconds));
  };

  // First as fast as it can, so that Redis is full when the merchants are measured; a part of the addresses is left for them.
  const leftForRounds = Math.min(keys / 2, rounds * (seconds + warmupSeconds + 3) * streamPerSecond);
  const first = stream({ ids: Math.ceil(keys - leftForRounds), first: 0, merchant: FLOODED });
  await sleep(1000);
  process.kill(first.job.pid, 'SIGUSR1');
  Object.assign(flood, await first.result);
  say(`${flood.answered} keys; Redis uses ${megabytes(await store.usedBytes())} and has evicted ${await store.evicted()}`);

  const [quietMs, floodedMs] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
  for (let round = 0; round < rounds; round++) {
    const quiet = stream({ merchants: ruled });
    quietMs.push(await p99Ms());
    process.kill(quiet.job.pid, 'SIGTERM');
    await quiet.result;
    await floodWith(async (job) => {
      floodedMs.push(await p99Ms());
      process.kill(job.pid, 'SIGTERM');
    });
  }
  if (flood.answered < keys) await floodWith((job) => sleep(1000).then(() => process.kill(job.pid, 'SIGUSR1')));
  const resident = Math.max(...memory.stop());
  const evicted = await store.evicted();
  const used = Math.max(...(await store.stop()));
  client.disconnect();
  say(
    `${flood.answered} keys ${JSON.stringify(flood.statuses)}, gateway ${megabytes(resident)}, Redis ${megabytes(used)} of ${megabytes(maxmemory)}, ` +
      `${evicted} evicted, p99 ${median(quietMs).toFixed(2)} ms beside merchants, ${median(floodedMs).toFixed(2)} ms beside the flood`,
  );
  const wrong = Object.entries(flood.statuses).reduce(
    (sum, [status, count]) => sum + (status === '200' || status === '429' ? 0 : count),
    0,
  );
  return [
    figure('10,000,000 distinct keys: resident memory of the gateway', [resident / 2 ** 20], {
      unit: 'MB',
      goal: { atMost: 400 },
      details: { ...flood, evicted },
    }),
    // It evicts before it takes a command: one that comes while it is full is beyond the bound until the next.
    figure('  memory of Redis / its maxmemory', [used / maxmemory], { goal: { atMost: 1.02 } }),
    figure('  share of the answers to the flood that are neither 200 nor 429', [wrong / flood.answered], { goal: { atMost: 0.005 } }),
    figure(
      '  p99 of merchants at half load, beside the flood / beside as many requests of merchants',
      floodedMs.map((ms, i) => ms / /** @type {number} */ (quietMs[i])),
      { goal: { atMost: 1.1 }, details: { quietMs, floodedMs } },
    ),
  ];
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
  await store.write([{ ...snapshotOf(0, { id: FLOODED }), rules: [rule] }], 3_600_000);
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
    this.#timer = setInterval(() => void this.usedBytes(), 200);
  }

  async usedBytes() {
    const used = Number(/^used_memory:(\d+)/m.exec(await this.#redis.info('memory'))?.[1]);
    this.#samples.push(used);
    return used;
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
