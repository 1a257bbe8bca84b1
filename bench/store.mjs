/** Exact decisions a second through Redis, against redis-benchmark of the same script and against another library. */
import { join } from 'node:path';
import { merchantBucketKey, merchantRules } from '#limiter';
import { BUCKET_PREFIX, createRedis } from '#limiter-redis';
import { DIST, ROOT } from '../scripts/paths.mjs';
import { figure, interleaved, median, rate, ratios } from './shared/figures.mjs';
import { ruleOf } from './shared/merchants.mjs';
import { installPeers } from './shared/peers.mjs';
import { cpuSeconds } from './shared/proc.mjs';
import { redisTool } from './shared/workshop.mjs';

export const title = 'exact decisions a second at 512 in flight over 100,000 buckets';

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

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  await installPeers(workshop, say);
  const redis = await workshop.redis();
  const call = await prepareCall(redis.url, undefined);

  /** @param {'tollgate' | 'flexible'} subject */
  const takes = (subject) => gathered(workshop, redis, subject, { warmupSeconds, seconds, quick });

  /** @param {number} requests */
  const benchmark = (requests) => oneByOne(workshop, redis, call, requests);
  /** redis-benchmark counts requests, not seconds. */
  let expectedPerSecond = (await benchmark(2_000)).perSecond;

  const results = await interleaved(
    rounds,
    {
      tollgate: () => takes('tollgate'),
      async benchmark() {
        // Short, to learn how many requests fill the time on this machine.
        expectedPerSecond = (await benchmark(Math.ceil(expectedPerSecond * Math.min(1, warmupSeconds)))).perSecond;
        return benchmark(Math.ceil(expectedPerSecond * seconds));
      },
      flexible: () => takes('flexible'),
    },
    (side, round, result) => say(`round ${round}: ${side.padEnd(9)} ${resultText(result)}`),
  );
  const of = (/** @type {string} */ side) => results[side] ?? [];
  const perSecond = (/** @type {string} */ side) => of(side).map((result) => result.perSecond);
  return [
    figure('store / redis-benchmark of its script one by one', ratios(perSecond('tollgate'), perSecond('benchmark')), { goal: { atLeast: 3.3 }, details: results }),
    figure('store / rate-limiter-flexible on Redis', ratios(perSecond('tollgate'), perSecond('flexible')), { goal: { atLeast: 3 } }),
    figure('  store', perSecond('tollgate'), { unit: '/s', details: { p50Ms: median(of('tollgate').map(({ p50Ms }) => p50Ms ?? NaN)) } }),
    figure('  store, p99', of('tollgate').map(({ p99Ms }) => p99Ms ?? NaN), { unit: 'ms' }),
    figure('  redis-benchmark', perSecond('benchmark'), { unit: '/s' }),
    figure('  rate-limiter-flexible', perSecond('flexible'), { unit: '/s' }),
    figure('  rate-limiter-flexible, p99', of('flexible').map(({ p99Ms }) => p99Ms ?? NaN), { unit: 'ms' }),
  ];
}

/**
 * Takes at 512 in flight.
 * @param {import('./shared/workshop.mjs').Workshop} workshop
 * @param {{ url: string, pid: number }} redis
 * @param {'tollgate' | 'flexible'} subject
 * @param {{ warmupSeconds: number, seconds: number, quick: boolean, limit?: object }} settings
 * @returns {Promise<StoreResult>}
 */
export async function gathered(workshop, redis, subject, { warmupSeconds, seconds, quick, limit }) {
  const settings = { redisUrl: redis.url, keys: KEYS, inFlight: IN_FLIGHT, warmupMs: warmupSeconds * 1000, measureMs: seconds * 1000, limit };
  const job = workshop.node(join(ROOT, 'bench', 'load', 'store-takes.mjs'), { measured: true, args: [subject, JSON.stringify(settings)] });
  const withinMs = settings.warmupMs + settings.measureMs + 20_000;
  await job.line((line) => line === 'measuring', withinMs);
  const redisBusy = busyMeter(redis.pid);
  const result = JSON.parse(await job.line((line) => line.startsWith('{'), withinMs));
  result.redisBusy = redisBusy();
  await job.ended;
  if (!quick && result.failures > result.perSecond * seconds * TOLERATED_FAILURES) throw new Error(`${subject}: ${result.failures} takes got no answer; is the machine busy with something else?`);
  return result;
}

/**
 * The same script, called by redis-benchmark.
 * @param {import('./shared/workshop.mjs').Workshop} workshop
 * @param {{ port: number, pid: number }} redis
 * @param {{ sha1: string, key: string }} call
 * @param {number} requests
 * @returns {Promise<StoreResult>}
 */
export async function oneByOne(workshop, redis, call, requests) {
  const { program, env } = redisTool('redis-benchmark');
  const args = ['-p', String(redis.port), '-c', String(BENCHMARK_CONNECTIONS), '-n', String(requests), '-r', String(KEYS), '-q', 'EVALSHA', call.sha1, '1', call.key, ''];
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
  const { packTakes } = await import(join(DIST, 'libs', 'limiter-redis', 'src', 'take-call.js'));
  const { sourceOf } = await import(join(DIST, 'libs', 'limiter-redis', 'src', 'scripts.js'));
  const rule = ruleOf(0, { endless: true, ...(limit && { limit }) });
  const taken = merchantRules('m', [rule], [], Date.now()).layers[0]?.enforced[0]?.takes;
  const requests = packTakes([{ takes: taken, slot: 0 }], Date.now(), 'of server').frames[1];
  const literal = [...requests].map((byte) => `\\${String(byte).padStart(3, '0')}`).join('');
  const source = `ARGV[2] = '${literal}'\n${sourceOf('take.lua')}`;

  const redis = createRedis(redisUrl, 'queue-worker');
  const sha1 = /** @type {string} */ (await redis.script('LOAD', source));
  const reply = await redis.evalsha(sha1, 1, `${BUCKET_PREFIX}trial`, '');
  await redis.del(`${BUCKET_PREFIX}trial`);
  redis.disconnect();
  if (!Array.isArray(reply) || !reply.every((number) => number >= 0)) throw new Error(`the script answers ${JSON.stringify(reply)} to a request of a full bucket`);
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

/** @param {StoreResult} result */
function resultText({ perSecond, p99Ms, failures, clientBusy, redisBusy }) {
  const percent = (/** @type {number} */ share) => `${Math.round(share * 100)} %`;
  return [
    rate(perSecond),
    p99Ms !== undefined && `p99 ${p99Ms.toFixed(1)} ms`,
    clientBusy !== undefined && `client ${percent(clientBusy)} of its core`,
    redisBusy !== undefined && `Redis ${percent(redisBusy)}`,
    failures !== undefined && failures > 0 && `${failures} without an answer`,
  ]
    .filter(Boolean)
    .join(', ');
}
