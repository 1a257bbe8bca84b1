/** Asks the running preloader for a full preload and follows it, with a progress bar on a terminal and plain lines elsewhere. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from './command-line.mjs';
import { dataDirOf, DIST, isMain } from './paths.mjs';
import { State } from './start/state.mjs';

const HELP = `npm run preload

Asks the running preloader to carry all merchants from PostgreSQL to Redis now, and shows how far it is. Live buckets are
not refilled by it. Ctrl-C ends the looking, not the preloading.

  QUEUE_REDIS_URL  Redis with the job queue; REDIS_URL if not set; if neither is, the Redis that npm start has started
  --help           this text`;

const CONNECT_TIMEOUT_MS = 3_000;
/** How long a request may lie in the queue, with no preloader to be seen, until we say so. */
const TAKE_UP_TIMEOUT_MS = 5_000;
const LOOK_INTERVAL_MS = 200;
const PLAIN_LINE_INTERVAL_MS = 2_000;
const BAR_WIDTH = 32;

/** @typedef {import('../libs/rule-sync/src/preload-queue.ts').PreloadQueue} PreloadQueue */
/** @typedef {import('../libs/rule-sync/src/queues.ts').PreloadWalk} PreloadWalk */

/** @param {NodeJS.ProcessEnv} env */
async function preload(env) {
  const { createRedis, PreloadQueue, VARIABLES } = await libraries();
  const url = queueUrl(env, VARIABLES);
  const redis = createRedis(url, 'queue-producer');
  const queue = new PreloadQueue(redis);
  try {
    await connected(redis, url);
    const { jobId, joined } = await queue.request();
    if (joined) console.log('An earlier request is not finished yet; following that one.');
    await follow(queue, jobId);
  } finally {
    await queue.handle.close();
    redis.disconnect();
  }
}

async function libraries() {
  if (!existsSync(join(DIST, 'libs/rule-sync/src/index.js'))) {
    const { build } = await import('./build.mjs');
    await build();
  }
  const [redis, sync, platform] = await Promise.all(['#limiter-redis', '#rule-sync', '#platform'].map((name) => import(name)));
  return { ...redis, ...sync, VARIABLES: platform.VARIABLES };
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {typeof import('../libs/platform/src/variables.ts').VARIABLES} variables
 */
function queueUrl(env, { queueRedisUrl, redisUrl }) {
  const name = [queueRedisUrl.name, redisUrl.name].find((variable) => env[variable]);
  if (name === undefined) {
    const dataDir = dataDirOf(env);
    const own = new State(dataDir).ownRedis();
    if (own === undefined)
      throw new Refusal(
        `No Redis of npm start runs in ${dataDir}. Start Tollgate with npm start, or say in REDIS_URL or QUEUE_REDIS_URL where its queue is.`,
      );
    return own;
  }
  try {
    return redisUrl.parse(/** @type {string} */ (env[name]));
  } catch (error) {
    throw new Refusal(`${name} is not usable: expected ${/** @type {Error} */ (error).message}.`);
  }
}

/**
 * @param {import('ioredis').Redis} redis
 * @param {string} url
 */
async function connected(redis, url) {
  for (const end = Date.now() + CONNECT_TIMEOUT_MS; redis.status !== 'ready'; await sleep(20)) {
    if (Date.now() < end) continue;
    throw new Refusal(
      `No Redis answers at ${new URL(url).host}. Is Tollgate running (npm start)? REDIS_URL or QUEUE_REDIS_URL says where its queue is.`,
    );
  }
}

/**
 * Shows the run until it is done.
 * @param {PreloadQueue} queue
 * @param {string} jobId
 */
async function follow(queue, jobId) {
  const show = process.stdout.isTTY ? showBar : plainLines();
  const askedAtMs = Date.now();
  for (;;) {
    const standing = await queue.look(jobId).catch((error) => {
      throw new Refusal(`\nThe queue no longer answers (${error.message}); the preload goes on by itself when it does.`);
    });
    if (standing === undefined) throw new Refusal('The request is gone from the queue: did Redis lose its data?');
    const { state, walk, error } = standing;
    show(state, walk);
    if (state === 'completed') return finish(walk);
    if (state === 'failed') throw new Refusal(`\nThe full preload failed: ${error}`);
    const untouched = state === 'waiting' && walk === undefined && Date.now() - askedAtMs > TAKE_UP_TIMEOUT_MS;
    if (untouched && (await queue.workers()) === 0) {
      throw new Refusal('\nNo preloader is running on this Redis; the request stays queued until one starts (npm run start:preloader).');
    }
    await sleep(LOOK_INTERVAL_MS);
  }
}

/**
 * @param {string} state
 * @param {PreloadWalk | undefined} walk
 */
function describe(state, walk) {
  if (walk === undefined) return state === 'active' ? 'beginning' : 'waiting for a preloader';
  const counts = `${walk.done.toLocaleString('en')} of ${walk.total.toLocaleString('en')} merchants`;
  const problems = walk.skipped > 0 ? `, ${walk.skipped} skipped` : '';
  const pause = state === 'active' || state === 'completed' ? '' : `, ${state}`;
  return `${counts}${problems}${pause}`;
}

/** @param {PreloadWalk | undefined} walk */
function shareDone(walk) {
  if (walk === undefined) return 0;
  return walk.total === 0 ? 1 : Math.min(1, walk.done / walk.total);
}

/**
 * @param {string} state
 * @param {PreloadWalk | undefined} walk
 */
function showBar(state, walk) {
  const share = shareDone(walk);
  const full = Math.round(share * BAR_WIDTH);
  const bar = '█'.repeat(full) + '░'.repeat(BAR_WIDTH - full);
  process.stdout.write(`\r\x1b[K${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${describe(state, walk)}`);
}

/** A line when something changed, but not more often than every two seconds. */
function plainLines() {
  let shown = '';
  let shownAtMs = 0;
  /** @type {typeof showBar} */
  return (state, walk) => {
    const line = `${String(Math.floor(shareDone(walk) * 100)).padStart(3)} %  ${describe(state, walk)}`;
    if (line === shown || (state !== 'completed' && Date.now() - shownAtMs < PLAIN_LINE_INTERVAL_MS)) return;
    shown = line;
    shownAtMs = Date.now();
    console.log(line);
  };
}

/** @param {PreloadWalk | undefined} walk */
function finish(walk) {
  if (process.stdout.isTTY) process.stdout.write('\n');
  const count = walk === undefined ? 0 : walk.done;
  console.log(`Done: ${count.toLocaleString('en')} merchants preloaded.`);
  if (walk !== undefined && walk.skipped > 0) {
    console.log(
      `${walk.skipped} could not be and are retried one by one; those that still fail are listed at /jobs/failed on the preloader's management port.`,
    );
  }
}

if (isMain(import.meta.url)) {
  const [option, ...more] = process.argv.slice(2);
  if (option === '--help') {
    console.log(HELP);
  } else if (option !== undefined || more.length > 0) {
    console.error(`npm run preload does not know ${[option, ...more].join(' ')}.\n\n${HELP}`);
    process.exitCode = 2;
  } else {
    try {
      await preload(process.env);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      console.error(error.message);
      process.exitCode = 1;
    }
  }
}
