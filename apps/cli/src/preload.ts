import { setTimeout as sleep } from 'node:timers/promises';
import { describeRedis, parseRedisUrl } from '#addresses';
import { createRedis } from '#limiter-redis';
import { VARIABLES } from '#platform';
import { PreloadQueue, type PreloadStatus, type PreloadWalk } from '#rule-sync';
import { dataDirOf } from '#scripts/paths.mjs';
import { failed } from './shared/command-error.js';
import { afterHelp, newCommand } from './shared/command.js';
import { count, print } from './shared/output.js';
import { Progress } from './shared/progress.js';
import { State } from './start/state.js';

const CONNECT_TIMEOUT_MS = 3_000;
/** How long a request may lie in the queue, with no preloader to be seen, until we say so. */
const TAKE_UP_TIMEOUT_MS = 5_000;
const LOOK_INTERVAL_MS = 200;

export function command() {
  return newCommand('preload', 'Asks the running preloader to carry all merchants from PostgreSQL to Redis now, and shows how far it is.')
    .addHelpText(
      'after',
      afterHelp(
        [
          'Live buckets are not refilled by it. Ctrl-C ends the display, not the preload.',
          'Variables:\n  QUEUE_REDIS_URL  Redis with the job queue; REDIS_URL if it is not set; if neither is, the Redis that npm start has started',
        ],
        ['npx tollgate preload', 'QUEUE_REDIS_URL=redis://127.0.0.1:6379 npx tollgate preload'],
      ),
    )
    .action(() => preload(process.env));
}

async function preload(env: NodeJS.ProcessEnv): Promise<void> {
  const url = queueUrl(env);
  const redis = createRedis(url, 'queue-producer');
  const queue = new PreloadQueue(redis);
  try {
    await untilReady(redis, url);
    const { jobId, joined } = await queue.request();
    if (joined) print('An earlier request is not finished yet; following that one.');
    const walk = await follow(queue, jobId);
    print(`Done: ${count(walk?.done ?? 0)} merchants preloaded.`);
    if (walk !== undefined && walk.skipped > 0) {
      print(
        `${walk.skipped} could not be and are retried one by one; those that still fail are listed at /jobs/failed on the preloader's management port.`,
      );
    }
  } finally {
    await queue.handle.close();
    redis.disconnect();
  }
}

function queueUrl(env: NodeJS.ProcessEnv): string {
  const variable = [VARIABLES.queueRedisUrl, VARIABLES.redisUrl].find(({ name }) => env[name]);
  if (variable === undefined) {
    const dataDir = dataDirOf(env);
    const own = new State(dataDir).ownRedis();
    if (own !== undefined) return own;
    throw failed(
      `No Redis of npm start runs in ${dataDir}. Start Tollgate with npm start, or say in REDIS_URL or QUEUE_REDIS_URL where its queue is.`,
    );
  }
  try {
    return variable.parse(env[variable.name] ?? '');
  } catch (error) {
    throw failed(`${variable.name} is not usable: expected ${(error as Error).message}.`);
  }
}

async function untilReady(redis: { readonly status: string }, url: string): Promise<void> {
  for (const endMs = Date.now() + CONNECT_TIMEOUT_MS; redis.status !== 'ready'; await sleep(20)) {
    if (Date.now() < endMs) continue;
    throw failed(
      `No Redis answers at ${describeRedis(parseRedisUrl(url))}. Is Tollgate running (npm start)? REDIS_URL or QUEUE_REDIS_URL says where its queue is.`,
    );
  }
}

/** Shows the run until it is done. */
async function follow(queue: PreloadQueue, jobId: string): Promise<PreloadWalk | undefined> {
  const progress = new Progress(process.stdout);
  const askedAtMs = Date.now();
  try {
    for (;;) {
      const standing = await queue.look(jobId).catch((error: Error) => {
        throw failed(`The queue no longer answers (${error.message}); the preload goes on by itself when it does.`);
      });
      if (standing === undefined) throw failed('The request is gone from the queue: did Redis lose its data?');
      const { state, walk, error } = standing;
      progress.show(shareDone(walk), describe(standing));
      if (state === 'completed') return walk;
      if (state === 'failed') throw failed(`The full preload failed: ${error}`);
      const untouched = state === 'waiting' && walk === undefined && Date.now() - askedAtMs > TAKE_UP_TIMEOUT_MS;
      if (untouched && (await queue.workers()) === 0) {
        throw failed('No preloader is running on this Redis; the request stays queued until one starts (npm run start:preloader).');
      }
      await sleep(LOOK_INTERVAL_MS);
    }
  } finally {
    progress.end();
  }
}

function describe({ state, walk }: PreloadStatus): string {
  if (walk === undefined) return state === 'active' ? 'beginning' : 'waiting for a preloader';
  const failures = walk.skipped > 0 ? `, ${walk.skipped} skipped` : '';
  const pause = state === 'active' || state === 'completed' ? '' : `, ${state}`;
  return `${count(walk.done)} of ${count(walk.total)} merchants${failures}${pause}`;
}

function shareDone(walk: PreloadWalk | undefined): number {
  if (walk === undefined) return 0;
  return walk.total === 0 ? 1 : walk.done / walk.total;
}
