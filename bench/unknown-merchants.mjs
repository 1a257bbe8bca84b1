/** A million ids that nobody created: what they cost the gateway in memory, PostgreSQL in look-ups, and known merchants in time. */
import { createRedis, RedisSnapshotStore } from '#limiter-redis';
import { startLimits } from '#limiter';
import { createDataSource } from '#rules-db';
import { asFastAsItCan, besideAFlood, floodFigures, halfOf, secondStream } from './shared/beside-a-flood.mjs';
import { figure, megabytes, rate } from './shared/figures.mjs';
import { startGateway, startUpstream, warmUp } from './shared/http-bed.mjs';
import { MemorySampler } from './shared/proc.mjs';

export const title = 'a flood of ids that nobody created';

const IDS = 1_000_000;
const RULES_SINCE_MS = Date.UTC(2026, 0, 1);

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
async function flooded(bench, upstream, redisUrl, policy) {
  const { workshop, warmupSeconds, quick, say } = bench;
  const { server, ruled, databaseUrl } = await startGateway(
    workshop,
    upstream,
    redisUrl,
    { UNKNOWN_MERCHANT: policy },
    { defaultRules: false },
  );
  await warmUp(workshop, server, { merchants: ruled, seconds: warmupSeconds });
  const asked = await halfOf(bench, server, ruled);
  say(`${policy}: at most ${rate(asked.most)}; the merchants ask for ${rate(asked.measured)}, the second stream for ${rate(asked.stream)}`);
  const memory = new MemorySampler(server.pid, 200);
  const stream = secondStream(workshop, server, { merchants: ruled, perSecond: asked.stream, ids: quick ? IDS / 50 : IDS });
  const measured = await besideAFlood(bench, server, ruled, asked.measured, stream.job);

  // What the merchants notice is known now; for the memory and the look-ups the rest may come as fast as it can.
  const lookUps = await lookUpCounter(databaseUrl);
  const [before, startedMs] = [await lookUps.count(), performance.now()];
  asFastAsItCan(stream.job);
  const flood = await stream.flooded;
  const perSecondAsked = ((await lookUps.count()) - before) / ((performance.now() - startedMs) / 1000);
  await lookUps.close();
  const resident = Math.max(...memory.stop());
  say(
    `${policy}: ${flood.answered} ids ${JSON.stringify(flood.statuses)}, resident ${megabytes(resident)}, PostgreSQL ${perSecondAsked.toFixed(1)} /s, ` +
      `p99 ${measured.quietMs.toFixed(2)} ms beside merchants, ${measured.floodedMs.toFixed(2)} ms beside the flood`,
  );
  return [
    figure(`unknown merchants, ${policy}: resident memory of the gateway`, [resident / 2 ** 20], {
      unit: 'MB',
      goal: { atMost: 400 },
      details: { ...flood },
    }),
    figure(`  ${policy}: transactions of PostgreSQL a second`, [perSecondAsked], { unit: '/s', goal: { atMost: 100 } }),
    ...floodFigures(`  ${policy}: p99 of merchants at half load, beside the flood / beside as many requests of merchants`, measured),
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
