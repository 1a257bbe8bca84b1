/** A million ids that nobody created: what they cost the gateway in memory, PostgreSQL in look-ups, and known merchants in time. */
import { createRedis, RedisSnapshotStore } from '#limiter-redis';
import { startLimits } from '#limiter';
import { createDataSource } from '#rules-db';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../scripts/paths.mjs';
import { figure, median, megabytes, rate } from './shared/figures.mjs';
import { load, startGateway, startUpstream, warmUp } from './shared/http-bed.mjs';
import { MemorySampler } from './shared/proc.mjs';

export const title = 'a flood of ids that nobody created';

const IDS = 1_000_000;
const RULES_SINCE_MS = Date.UTC(2026, 0, 1);

/**
 * The gateway is at half of what it can answer, always: the merchants that are measured ask for three quarters of that, and a
 * second stream for the rest, of other known merchants when it is quiet and of ids that nobody created in the flood.
 */
const MEASURED = 0.375;
const SECOND_STREAM = 0.125;
const STREAM_CONNECTIONS = 32;

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run(bench) {
  const redis = await bench.workshop.redis();
  const upstream = await startUpstream(bench.workshop);
  await writeDefaultRules(redis.url);
  const figures = [];
  for (const policy of ['deny', 'default']) figures.push(...(await flooded(bench, upstream, redis.url, policy)));
  return figures;
}

/**
 * @param {import('./run.mjs').Bench} bench
 * @param {import('./shared/http-bed.mjs').Server} upstream
 * @param {string} redisUrl
 * @param {string} policy of ids that nobody created
 * @returns {Promise<import('./shared/figures.mjs').Figure[]>}
 */
async function flooded({ workshop, rounds, seconds, warmupSeconds, quick, say }, upstream, redisUrl, policy) {
  const { server, ruled, databaseUrl } = await startGateway(
    workshop,
    upstream,
    redisUrl,
    { UNKNOWN_MERCHANT: policy },
    { defaultRules: false },
  );
  await warmUp(workshop, server, { merchants: ruled, seconds: warmupSeconds });
  const full = await load(workshop, server, { merchants: ruled, seconds, warmupSeconds, limited: true, quick });
  const perSecond = Math.round(full.perSecond * MEASURED);
  const streamPerSecond = Math.round(full.perSecond * SECOND_STREAM);
  say(
    `${policy}: at most ${rate(full.perSecond)}; the merchants ask for ${rate(perSecond)}, the second stream for ${rate(streamPerSecond)}`,
  );

  const ids = quick ? IDS / 50 : IDS;
  const flood = { answered: 0, seconds: 0, transactions: 0, statuses: /** @type {Record<string, number>} */ ({}) };
  const lookUps = await lookUpCounter(databaseUrl);
  const memory = new MemorySampler(server.pid, 200);

  /** @param {object} settings */
  const stream = (settings) => {
    const job = workshop.node(join(ROOT, 'bench', 'load', 'unknown-load.mjs'), {
      args: [JSON.stringify({ port: server.port, perSecond: streamPerSecond, connections: STREAM_CONNECTIONS, ...settings })],
    });
    return { job, result: job.line((line) => line.startsWith('{'), 1_200_000).then((line) => JSON.parse(line)) };
  };
  /** @param {object} settings @param {(job: import('./shared/workshop.mjs').Job) => unknown} meanwhile */
  const floodWith = async (settings, meanwhile) => {
    const before = await lookUps.count();
    const { job, result } = stream({ ids: ids - flood.answered, first: flood.answered, ...settings });
    await meanwhile(job);
    const { answered, seconds: took, statuses } = await result;
    flood.answered += answered;
    flood.seconds += took;
    flood.transactions += (await lookUps.count()) - before;
    for (const [status, count] of Object.entries(statuses)) flood.statuses[status] = (flood.statuses[status] ?? 0) + Number(count);
  };
  // Of the middle second: that of a whole round is often made by one moment in which the machine did something else.
  const p99Ms = async () => {
    const { p99MsBySecond } = await load(workshop, server, { merchants: ruled, seconds, warmupSeconds, perSecond, limited: true, quick });
    return median(p99MsBySecond.slice(0, seconds));
  };

  const [quietMs, floodedMs, ratios] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
  for (let round = 0; round < rounds; round++) {
    const quiet = stream({ ids: IDS, merchants: ruled });
    quietMs.push(await p99Ms());
    process.kill(quiet.job.pid, 'SIGTERM');
    await quiet.result;
    await floodWith({}, async (job) => {
      floodedMs.push(await p99Ms());
      process.kill(job.pid, 'SIGTERM');
    });
    ratios.push(/** @type {number} */ (floodedMs.at(-1)) / /** @type {number} */ (quietMs.at(-1)));
  }
  // What the merchants notice is known now; for the memory and the look-ups the rest may come as fast as it can.
  await floodWith({}, (job) => sleep(1000).then(() => process.kill(job.pid, 'SIGUSR1')));
  await lookUps.close();
  const resident = Math.max(...memory.stop());
  const perSecondAsked = flood.transactions / flood.seconds;
  say(
    `${policy}: ${flood.answered} ids ${JSON.stringify(flood.statuses)}, resident ${megabytes(resident)}, PostgreSQL ${perSecondAsked.toFixed(1)} /s, ` +
      `p99 ${median(quietMs).toFixed(2)} ms beside merchants, ${median(floodedMs).toFixed(2)} ms beside the flood`,
  );
  return [
    figure(`unknown merchants, ${policy}: resident memory of the gateway`, [resident / 2 ** 20], {
      unit: 'MB',
      goal: { atMost: 400 },
      details: flood,
    }),
    figure(`  ${policy}: transactions of PostgreSQL a second`, [perSecondAsked], { unit: '/s', goal: { atMost: 100 } }),
    figure(`  ${policy}: p99 of merchants at half load, beside the flood / beside as many requests of merchants`, ratios, {
      goal: { atMost: 1.1 },
      details: { quietMs, floodedMs },
    }),
  ];
}

/**
 * Twenty with four limits each, which once took 130 KB for every merchant. Of the path that is asked for only one of them says something, in a
 * layer in which the known merchants have a rule of their own: what they are measured with is that one.
 */
async function writeDefaultRules(/** @type {string} */ redisUrl) {
  const redis = createRedis(redisUrl, 'queue-worker');
  const limits = startLimits(
    Array.from(
      { length: 4 },
      (_, i) =>
        /** @type {any} */ ({
          name: `limit ${i}`,
          algorithm: 'token_bucket',
          capacity: 1_000_000,
          refillTokens: 1_000_000,
          refillIntervalMs: 1000,
          refill: 'greedy',
        }),
    ),
    RULES_SINCE_MS,
  );
  const rules = Array.from({ length: 20 }, (_, i) => ({
    id: String(i + 1),
    name: `default ${i}`,
    layer: ['platform', 'network', 'merchant', 'user'][i % 4],
    priority: 1 + i,
    enabled: true,
    mode: 'enforce',
    match: { methods: [], paths: i === 2 ? [] : [`/route-${i}/**`] },
    key: ['merchant'],
    limits,
    cost: 1,
    onStoreFailure: 'closed',
  }));
  await new RedisSnapshotStore(redis).writeDefaultRules({ version: 1, rules: /** @type {any} */ (rules) });
  redis.disconnect();
}

/**
 * Counts the transactions of PostgreSQL by its own statistics, so that whatever asks is counted.
 * @param {string} databaseUrl
 */
async function lookUpCounter(databaseUrl) {
  const dataSource = await createDataSource(databaseUrl).initialize();
  return {
    count: async () =>
      Number(
        (await dataSource.query('SELECT xact_commit + xact_rollback AS count FROM pg_stat_database WHERE datname = current_database()'))[0]
          .count,
      ),
    close: () => dataSource.destroy(),
  };
}
