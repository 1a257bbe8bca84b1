/** Preloading: keys a second against redis-cli --pipe of the same keys, and the memory of the preloader meanwhile. */
import { join } from 'node:path';
import { createRedis } from '#limiter-redis';
import { bundleOf, ROOT } from '../scripts/paths.mjs';
import { figure, interleaved, median, megabytes, rate, ratios } from './shared/figures.mjs';
import { fillDatabase, pipe, writeCommands } from './shared/preload-bed.mjs';
import { MemorySampler } from './shared/proc.mjs';

export const title = 'preloading against redis-cli --pipe of the same keys';

const MERCHANTS = 500_000;
const MERCHANTS_IN_DATABASE = 1_000_000;
const TIMEOUT_MS = 300_000;
/** The goal from PostgreSQL to Redis. */
const MERCHANTS_PER_SECOND = 100_000;

/** @typedef {{ seconds: number, busy?: number, bytes?: number, calls?: number }} Timed */

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run(bench) {
  const all = await compare(bench, 'all', 'preload: snapshots and buckets / redis-cli --pipe', { atLeast: 0.7 });
  const buckets = await compare(bench, 'buckets', 'preload: buckets alone / redis-cli --pipe', { atLeast: 0.7 });
  return [...all, ...buckets, ...(await endToEnd(bench, all[2]?.median ?? NaN))];
}

/**
 * @param {import('./run.mjs').Bench} bench
 * @param {'all' | 'buckets'} what
 * @param {string} name
 * @param {import('./shared/figures.mjs').Figure['goal']} goal
 */
async function compare({ workshop, rounds, quick, say }, what, name, goal) {
  const server = await workshop.redis();
  const redis = createRedis(server.url, 'queue-worker');
  const merchants = quick ? MERCHANTS / 10 : MERCHANTS;

  /** @returns {Promise<Timed>} */
  async function preload() {
    await redis.flushall();
    await redis.config('RESETSTAT');
    const job = workshop.node(join(ROOT, 'bench', 'load', 'preload-writer.mjs'), {
      measured: true,
      args: [JSON.stringify({ redisUrl: server.url, merchants, what })],
    });
    const result = JSON.parse(await job.line((line) => line.startsWith('{'), TIMEOUT_MS));
    await job.ended;
    return { ...result, ...(await received(redis)) };
  }

  try {
    await preload();
    const commands = await writeCommands(workshop, server.url, merchants, what);
    const results = await interleaved(
      rounds,
      {
        preload,
        async pipe() {
          await redis.flushall();
          return /** @type {Timed} */ (await pipe(workshop, server.port, commands));
        },
      },
      (side, round, { seconds, busy }) =>
        say(
          `round ${round}: ${what}, ${side.padEnd(7)} ${rate(commands.keys / seconds)}${busy === undefined ? '' : `, ${Math.round(busy * 100)} % of its core`}`,
        ),
    );
    const perSecond = (/** @type {string} */ side) => (results[side] ?? []).map(({ seconds }) => commands.keys / seconds);
    const perPreload = (/** @type {(timed: Timed) => number} */ of) => (results['preload'] ?? []).map(of);
    return [
      figure(name, ratios(perSecond('preload'), perSecond('pipe')), {
        goal,
        details: { merchants, ...commands, file: undefined, ...results },
      }),
      figure('  preloading, keys', perSecond('preload'), { unit: '/s' }),
      figure('  redis-cli --pipe, keys', perSecond('pipe'), { unit: '/s' }),
      // These do not depend on how busy the machine is.
      figure(
        '  bytes sent to Redis, a key',
        perPreload(({ bytes = NaN }) => bytes / commands.keys),
        { unit: 'B' },
      ),
      figure(
        '  calls of Redis, 1,000 keys',
        perPreload(({ calls = NaN }) => (1000 * calls) / commands.keys),
      ),
    ];
  } finally {
    redis.disconnect();
    await server.stop();
  }
}

/**
 * What Redis was sent since its statistics began. What scripts call counts as calls of their own there, so it is the scripts that are counted.
 * @param {import('#limiter-redis').RedisConnection} redis
 */
async function received(redis) {
  const [stats, commands] = await Promise.all([redis.info('stats'), redis.info('commandstats')]);
  const number = (/** @type {string} */ text, /** @type {RegExp} */ what) => Number(what.exec(text)?.[1] ?? 0);
  const calls = ['evalsha', 'eval', 'hgetall'].map((name) => number(commands, new RegExp(`cmdstat_${name}:calls=(\\d+)`)));
  return { bytes: number(stats, /total_net_input_bytes:(\d+)/), calls: calls.reduce((sum, each) => sum + each, 0) };
}

/**
 * The preloader itself, from PostgreSQL to Redis, once.
 * @param {import('./run.mjs').Bench} bench
 * @param {number} pipePerSecond
 */
async function endToEnd({ workshop, quick, say }, pipePerSecond) {
  const merchants = quick ? MERCHANTS_IN_DATABASE / 50 : MERCHANTS_IN_DATABASE;
  const redis = await workshop.redis();
  const postgres = await workshop.postgres();
  say(`filling PostgreSQL with ${merchants} merchants ...`);
  await fillDatabase(postgres.url, merchants);
  const job = workshop.node(bundleOf('preloader'), {
    measured: true,
    env: { DATABASE_URL: postgres.url, REDIS_URL: redis.url, PRELOADER_MANAGEMENT_PORT: '0' },
  });
  await job.line((line) => line.includes('full preload started'), TIMEOUT_MS);
  const memory = new MemorySampler(job.pid);
  const done = JSON.parse(await job.line((line) => line.includes('full preload done'), TIMEOUT_MS));
  const samples = memory.stop();
  if (done.merchants !== merchants) throw new Error(`the preloader carried ${done.merchants} merchants, not ${merchants}`);
  const perSecond = merchants / (done.durationMs / 1000);
  say(`PostgreSQL to Redis: ${rate(perSecond)} merchants`);

  const quarter = (/** @type {number} */ n) =>
    median(samples.slice(Math.floor((samples.length * (n - 1)) / 4), Math.ceil((samples.length * n) / 4)));
  const [start = NaN, second, last] = [samples[0], quarter(2), quarter(4)];
  const most = Math.max(...samples);
  say(`memory of the preloader: ${megabytes(start)} at the start, ${megabytes(median(samples))} median, ${megabytes(most)} at most`);
  const details = {
    merchants,
    startBytes: start,
    medianBytes: median(samples),
    maxBytes: most,
    secondQuarterBytes: second,
    lastQuarterBytes: last,
  };
  return [
    // Two keys a merchant.
    figure('preload: from PostgreSQL to Redis / redis-cli --pipe', [(2 * perSecond) / pipePerSecond], {
      details: { merchants, durationMs: done.durationMs },
    }),
    figure('  from PostgreSQL to Redis, merchants', [perSecond], { unit: '/s', goal: { atLeast: MERCHANTS_PER_SECOND } }),
    figure('preload: memory, last quarter / second quarter', [last / second], { goal: { atMost: 1.1 }, details }),
    figure('  memory at the start', [start / 2 ** 20], { unit: 'MB' }),
    figure('  memory, median', [median(samples) / 2 ** 20], { unit: 'MB' }),
    figure('  memory at most', [most / 2 ** 20], { unit: 'MB' }),
  ];
}
