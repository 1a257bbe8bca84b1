/** What the benchmarks of the store stand on: takes gathered by it, and the same script called by redis-benchmark. */
import { join } from 'node:path';
import { merchantBucketKey, merchantRules } from '#limiter';
import { BUCKET_PREFIX, createRedis } from '#limiter-redis';
import { DIST, ROOT } from '../../scripts/paths.mjs';
import { ruleOf } from './merchants.mjs';
import { cpuSeconds } from './proc.mjs';
import { redisTool } from './workshop.mjs';

const IN_FLIGHT = 512;
const KEYS = 100_000;
const BENCHMARK_CONNECTIONS = 50;

/** Takes without an answer, before a measurement counts as failed. */
const TOLERATED_FAILURES = 0.005;

/**
 * @typedef {object} StoreResult
 * @property {number} perSecond
 * @property {number} [p50Ms]
 * @property {number} [p99Ms]
 * @property {number} [failures]
 * @property {number} [clientBusy] share of a core
 * @property {number} [redisBusy] share of a core
 */

/**
 * Takes at 512 in flight.
 * @param {import('./workshop.mjs').Workshop} workshop
 * @param {{ url: string, pid: number }} redis
 * @param {'tollgate' | 'flexible'} subject
 * @param {{ warmupSeconds: number, seconds: number, quick: boolean, limit?: object, keys?: number, madeWhenAsked?: boolean }} settings
 * @returns {Promise<StoreResult>}
 */
export async function gathered(workshop, redis, subject, { warmupSeconds, seconds, quick, limit, keys = KEYS, madeWhenAsked = false }) {
  const settings = {
    redisUrl: redis.url,
    keys,
    madeWhenAsked,
    inFlight: IN_FLIGHT,
    warmupMs: warmupSeconds * 1000,
    measureMs: seconds * 1000,
    limit,
  };
  const job = workshop.node(join(ROOT, 'bench', 'load', 'store-takes.mjs'), { measured: true, args: [subject, JSON.stringify(settings)] });
  const withinMs = settings.warmupMs + settings.measureMs + 20_000;
  await job.line((line) => line === 'measuring', withinMs);
  const redisBusy = busyMeter(redis.pid);
  const result = JSON.parse(await job.line((line) => line.startsWith('{'), withinMs));
  result.redisBusy = redisBusy();
  await job.ended;
  if (!quick && result.failures > result.perSecond * seconds * TOLERATED_FAILURES)
    throw new Error(`${subject}: ${result.failures} takes got no answer; is the machine busy with something else?`);
  return result;
}

/**
 * The same script, called by redis-benchmark.
 * @param {import('./workshop.mjs').Workshop} workshop
 * @param {{ port: number, pid: number }} redis
 * @param {{ sha1: string, key: string }} call
 * @param {number} requests
 * @returns {Promise<StoreResult>}
 */
export async function oneByOne(workshop, redis, call, requests) {
  const { program, env } = redisTool('redis-benchmark');
  const args = [
    '-p',
    String(redis.port),
    '-c',
    String(BENCHMARK_CONNECTIONS),
    '-n',
    String(requests),
    '-r',
    String(KEYS),
    '-q',
    'EVALSHA',
    call.sha1,
    '1',
    call.key,
    '',
  ];
  const job = workshop.start(program, { measured: true, env, args });
  const redisBusy = busyMeter(redis.pid);
  const line = await job.line((text) => text.includes('requests per second'), 120_000);
  const busy = redisBusy();
  await job.ended;
  const perSecond = Number(/([\d.]+) requests per second/.exec(line)?.[1]);
  const p50Ms = Number(/p50=([\d.]+)/.exec(line)?.[1]);
  return { perSecond, p50Ms, ...(busy !== undefined && { redisBusy: busy }) };
}

/**
 * The call that the store makes for one request, made fit for redis-benchmark, whose arguments cannot hold the zero bytes
 * of a packed request: the request stands in the first line of the script instead. Tried once, so that no error is
 * taken for speed.
 * @param {string} redisUrl
 * @param {object} [limit] of the rule; the endless token bucket unless given
 */
export async function prepareCall(redisUrl, limit) {
  const { packTakes } = await import(join(DIST, 'libs', 'limiter-redis', 'src', 'buckets', 'take-call.js'));
  const { sourceOf } = await import(join(DIST, 'libs', 'limiter-redis', 'src', 'scripts.js'));
  const rule = ruleOf(0, { endless: true, ...(limit && { limit }) });
  const taken = merchantRules('m', [rule], []).takes();
  const requests = packTakes([{ takes: taken, holder: 0, spare: false, withFormer: false }], Date.now(), 'of server').frames[1];
  const literal = [...requests].map((byte) => `\\${String(byte).padStart(3, '0')}`).join('');
  const source = `ARGV[2] = '${literal}'\n${sourceOf('take.lua')}`;

  const redis = createRedis(redisUrl, 'queue-worker');
  const sha1 = /** @type {string} */ (await redis.script('LOAD', source));
  const reply = await redis.evalsha(sha1, 1, `${BUCKET_PREFIX}trial`, '');
  await redis.del(`${BUCKET_PREFIX}trial`);
  redis.disconnect();
  if (!Array.isArray(reply) || !reply.every((number) => number >= 0))
    throw new Error(`the script answers ${JSON.stringify(reply)} to a request of a full bucket`);
  return { sha1, key: BUCKET_PREFIX + merchantBucketKey('m__rand_int__', rule.id, 0) };
}

/** @param {number} pid @returns {() => number | undefined} share of a core since */
function busyMeter(pid) {
  const [startedMs, before] = [performance.now(), cpuSeconds(pid)];
  return () => {
    const after = cpuSeconds(pid);
    return before === undefined || after === undefined ? undefined : (after - before) / ((performance.now() - startedMs) / 1000);
  };
}
