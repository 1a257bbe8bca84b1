/** A million ids that nobody created: what they cost the gateway in memory, PostgreSQL in look-ups, and known merchants in time. */
import { createRedis, RedisSnapshotStore } from '#limiter-redis';
import { startLimits } from '#limiter';
import { createDataSource } from '#rules-db';
import { join } from 'node:path';
import { ROOT } from '../scripts/paths.mjs';
import { figure, median, megabytes, rate } from './shared/figures.mjs';
import { load, startGateway, startUpstream, warmUp } from './shared/http-bed.mjs';
import { MemorySampler } from './shared/proc.mjs';

export const title = 'a flood of ids that nobody created';

const IDS = 1_000_000;
const RULES_SINCE_MS = Date.UTC(2026, 0, 1);

/** Share of what the gateway can answer at most that the known merchants ask for: half, and the flood comes on top. */
const HALF = 0.5;
/** The flood is as large a share of it, as far as the load generator can. */
const FLOOD = 0.25;

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const redis = await workshop.redis();
  const upstream = await startUpstream(workshop);
  await writeDefaultRules(redis.url);
  const figures = [];
  for (const policy of ['deny', 'default']) {
    const { server, ruled, databaseUrl } = await startGateway(
      workshop,
      upstream,
      redis.url,
      { UNKNOWN_MERCHANT: policy },
      { defaultRules: false },
    );
    await warmUp(workshop, server, { merchants: ruled, seconds: warmupSeconds });
    const full = await load(workshop, server, { merchants: ruled, seconds, warmupSeconds, limited: true, quick });
    const perSecond = Math.round(full.perSecond * HALF);
    say(`${policy}: at most ${rate(full.perSecond)}; half of it are ${rate(perSecond)}`);
    const quiet = () => load(workshop, server, { merchants: ruled, seconds, warmupSeconds, perSecond, limited: true, quick });

    const ids = quick ? IDS / 50 : IDS;
    const floodPerSecond = Math.round(full.perSecond * FLOOD);
    const quietMs = [];
    for (let round = 0; round < rounds; round++) quietMs.push((await quiet()).p99Ms);
    const memory = new MemorySampler(server.pid, 200);
    const lookUps = await lookUpCounter(databaseUrl);
    const settings = { port: server.port, ids, perSecond: floodPerSecond, connections: 32, first: 0 };
    const job = workshop.node(join(ROOT, 'bench', 'load', 'unknown-load.mjs'), { args: [JSON.stringify(settings)] });
    const whole = job.line((line) => line.startsWith('{'), (ids / floodPerSecond) * 5000 + 600_000);
    const floodedMs = [];
    const flood = { over: false };
    void whole.finally(() => (flood.over = true));
    while (!flood.over && floodedMs.length < rounds) floodedMs.push((await quiet()).p99Ms);
    // What the merchants notice is known now; for the memory and the look-ups the rest may come as fast as it can.
    if (!flood.over) process.kill(job.pid, 'SIGUSR1');
    const result = JSON.parse(await whole);
    const asked = await lookUps();
    const resident = Math.max(...memory.stop());
    say(
      `${policy}: ${result.answered} ids at ${rate(result.perSecond)} ${JSON.stringify(result.statuses)}, resident ${megabytes(resident)}, PostgreSQL ${asked.toFixed(1)} /s, p99 ${median(quietMs).toFixed(2)} ms quiet, ${floodedMs.length ? median(floodedMs).toFixed(2) : '-'} ms in the flood`,
    );
    figures.push(
      figure(`unknown merchants, ${policy}: resident memory of the gateway`, [resident / 2 ** 20], {
        unit: 'MB',
        goal: { atMost: 400 },
        details: result,
      }),
      figure(`  ${policy}: transactions of PostgreSQL a second`, [asked], { unit: '/s', goal: { atMost: 100 } }),
    );
    if (floodedMs.length > 0)
      figures.push(
        figure(`  ${policy}: p99 of known merchants at half load, in the flood / quiet`, [median(floodedMs) / median(quietMs)], {
          goal: { atMost: 1.1 },
          details: { quietMs, floodedMs },
        }),
      );
  }
  return figures;
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
 * Counts by PostgreSQL's own statistics, so that whatever asks is counted.
 * @param {string} databaseUrl
 * @returns {Promise<() => Promise<number>>} transactions a second since
 */
async function lookUpCounter(databaseUrl) {
  const dataSource = await createDataSource(databaseUrl).initialize();
  const count = async () =>
    Number(
      (await dataSource.query('SELECT xact_commit + xact_rollback AS count FROM pg_stat_database WHERE datname = current_database()'))[0]
        .count,
    );
  const [startedMs, before] = [performance.now(), await count()];
  return async () => {
    const perSecond = ((await count()) - before) / ((performance.now() - startedMs) / 1000);
    await dataSource.destroy();
    return perSecond;
  };
}
