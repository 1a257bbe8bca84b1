/** Growth at the gateway: more connections, more gateways, more merchants. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRedis, RedisSnapshotStore } from '#limiter-redis';
import { ROOT } from '../../scripts/paths.mjs';
import { median, megabytes } from '../shared/figures.mjs';
import { load, openGateway, startGateway, startUpstream, warmUp } from '../shared/http-bed.mjs';
import { snapshotOf } from '../shared/merchants.mjs';
import { residentBytes } from '../shared/proc.mjs';

const CONNECTIONS = [1, 4, 16, 64];
const GATEWAYS = [1, 2, 4, 8, 16];
const MERCHANTS = [1_000, 10_000, 100_000, 1_000_000];
/** Of all gateways together: so few that sixteen on one core keep up with it. */
const PACED_PER_SECOND = 800;
const CONNECTIONS_OF_ONE = 4;
const AS_FAST_AS_ANSWERED = 1_000_000;
const CONNECTIONS_OF_FLOOD = 32;
const CHUNK = 1_000;
/** Of a million: two minutes on a machine that does nothing else. */
const LONGEST_FLOOD_MS = 3_600_000;
const TTL_MS = 3_600_000;
/** Of merchants that are read late. Then PostgreSQL is asked as well, to which they are unknown ids. */
const TOLERATED_SHARE = 0.001;
const PATIENT = { STORE_TIMEOUT_MS: '1000' };

/** In which a gateway that was asked for many merchants comes to rest. */
const REST_MS = 3_000;

/** @typedef {import('./in-process.mjs').Measured} Measured */

/**
 * A gateway that waits for a late Redis: how late one is on a machine with much to do is not what is measured.
 * @param {import('../run.mjs').Bench} bench
 */
async function gatewayBed({ workshop, warmupSeconds }) {
  const redis = await workshop.redis();
  const upstream = await startUpstream(workshop);
  const { server, ruled, databaseUrl } = await startGateway(workshop, upstream, redis.url, PATIENT);
  await warmUp(workshop, server, { merchants: ruled, seconds: warmupSeconds });
  const open = () => openGateway(workshop, { upstream, redisUrl: redis.url, databaseUrl, env: PATIENT });
  return { redis, server, ruled, open };
}

/**
 * CPU of a gateway for a request, with so many connections that each have one under way. Microseconds.
 * @param {import('../run.mjs').Bench} bench
 * @returns {Promise<Measured[]>}
 */
export async function requestsByConnections(bench) {
  const { workshop, rounds, seconds, warmupSeconds, quick, say } = bench;
  const { server, ruled } = await gatewayBed(bench);
  /** @type {Measured[]} */
  const results = CONNECTIONS.map((size) => ({ size, rounds: [] }));
  for (let round = 0; round < rounds; round++) {
    for (const result of results) {
      const { perSecond, serverBusy = NaN } = await load(workshop, server, {
        merchants: ruled,
        seconds,
        warmupSeconds,
        limited: true,
        quick,
        connections: result.size,
      });
      result.rounds.push((1e6 * serverBusy) / perSecond);
    }
  }
  for (const { size, rounds: micros } of results) say(`${size} connections: ${median(micros).toFixed(0)} us of the gateway a request`);
  return results;
}

/**
 * CPU of Redis for a request, if the same load is spread over so many gateways: each gathers fewer takes into a call. Microseconds.
 * @param {import('../run.mjs').Bench} bench
 * @returns {Promise<Measured[]>}
 */
export async function requestsByGateways(bench) {
  const { workshop, rounds, seconds, warmupSeconds, quick, say } = bench;
  const { server, redis, ruled, open } = await gatewayBed(bench);
  const connection = /** @type {import('ioredis').Redis} */ (createRedis(redis.url, 'queue-worker'));
  const servers = [server];
  const results = [];
  for (const size of quick ? GATEWAYS.slice(0, 3) : GATEWAYS) {
    while (servers.length < size) servers.push(await open());
    const perSecond = PACED_PER_SECOND / size;
    const options = { merchants: ruled, warmupSeconds, connections: CONNECTIONS_OF_ONE, perSecond };
    await Promise.all(servers.map((each) => load(workshop, each, { ...options, seconds: 0.5, quick: true })));
    /** @type {number[]} */
    const micros = [];
    for (let round = 0; round < rounds; round++) {
      const before = await cpuSecondsOfRedis(connection);
      const answered = await Promise.all(servers.map((each) => load(workshop, each, { ...options, seconds, limited: true, quick })));
      const used = (await cpuSecondsOfRedis(connection)) - before;
      const total = answered.reduce((sum, { perSecond: each }) => sum + each, 0) * (seconds + warmupSeconds);
      micros.push((1e6 * used) / total);
    }
    say(`${size} gateways: ${median(micros).toFixed(1)} us of Redis a request at ${PACED_PER_SECOND} /s in all`);
    results.push({ size, rounds: micros });
  }
  connection.disconnect();
  return results;
}

/** By its own account, which is in microseconds: what the system tells is in hundredths of a second, and so few requests take ten of these. @param {import('ioredis').Redis} redis */
async function cpuSecondsOfRedis(redis) {
  const [, system, user] = /used_cpu_sys:([\d.]+)\s+used_cpu_user:([\d.]+)/.exec(await redis.info('cpu')) ?? [];
  return Number(system) + Number(user);
}

/**
 * Resident memory of a gateway that was asked for so many merchants, once each. Megabytes.
 * @param {import('../run.mjs').Bench} bench
 * @returns {Promise<Measured[]>}
 */
export async function memoryByMerchants(bench) {
  const {
    server,
    redis: { url },
  } = await gatewayBed(bench);
  const redis = /** @type {import('ioredis').Redis} */ (createRedis(url, 'queue-worker'));
  try {
    return await memoryWith(bench, server, redis);
  } finally {
    redis.disconnect();
  }
}

/**
 * @param {import('../run.mjs').Bench} bench
 * @param {import('../shared/http-bed.mjs').Server} server
 * @param {import('ioredis').Redis} redis
 */
async function memoryWith({ workshop, quick, say }, server, redis) {
  const store = new RedisSnapshotStore(redis, undefined, { compact: async () => true });
  const results = [];
  let asked = 0;
  for (const size of MERCHANTS.map((merchants) => (quick ? merchants / 100 : merchants))) {
    // Each connection may ask for one more before all are answered.
    const last = size + CONNECTIONS_OF_FLOOD;
    for (let first = asked; first < last; first += CHUNK) {
      const count = Math.min(CHUNK, last - first);
      await store.write(
        Array.from({ length: count }, (_, i) => snapshotOf(first + i, { id: `grown-${first + i}`, endless: true })),
        TTL_MS,
      );
    }
    const settings = {
      port: server.port,
      ids: size - asked,
      perSecond: AS_FAST_AS_ANSWERED,
      connections: CONNECTIONS_OF_FLOOD,
      first: asked,
      prefix: 'grown',
    };
    const job = workshop.node(join(ROOT, 'bench', 'load', 'unknown-load.mjs'), { args: [JSON.stringify(settings)] });
    const { statuses } = JSON.parse(await job.line((line) => line.startsWith('{'), LONGEST_FLOOD_MS));
    if (!quick && (statuses['200'] ?? 0) < (1 - TOLERATED_SHARE) * (size - asked))
      throw new Error(`of ${size - asked} merchants too many were not answered with 200: ${JSON.stringify(statuses)}`);
    await job.ended;
    asked = size;
    await sleep(REST_MS);
    const bytes = residentBytes(server.pid) ?? NaN;
    say(`${size.toLocaleString('en')} merchants: ${megabytes(bytes)}`);
    results.push({ size, rounds: [bytes / 2 ** 20] });
  }
  return results;
}
