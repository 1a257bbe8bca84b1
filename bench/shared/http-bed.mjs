/** What the HTTP benchmarks stand on: an upstream, the gateway in front of it, and measurements of load. */
import { createRedis, RedisSnapshotStore } from '#limiter-redis';
import { createDataSource, migrate } from '#rules-db';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { bundleOf, ROOT } from '../../scripts/paths.mjs';
import { cpuSeconds, cpuSecondsOfFamily } from './proc.mjs';
import { snapshotOf } from './merchants.mjs';

const CONNECTIONS = 64;
/** Of HTTP/2, which share as many streams. */
const HTTP2_CONNECTIONS = 8;

/** Merchants of a benchmark: enough that not all requests meet in one bucket. */
const MERCHANTS = 1000;
/** Merchants that flood. */
const FLOODING = 10;
/** Of which nothing comes back while a benchmark runs. */
const EXHAUSTED = {
  name: 'steady',
  algorithm: 'token_bucket',
  capacity: 1,
  refillTokens: 1,
  refillIntervalMs: 86_400_000,
  refill: 'greedy',
};
/** Answers other than those that are meant to be measured, before a measurement counts as failed. */
const TOLERATED_SHARE = 0.005;
/** Longer than any benchmark: a full Redis evicts what is nearest to its end. */
export const SNAPSHOT_TTL_MS = 86_400_000;

/** @typedef {{ port: number, pid: number, family?: boolean }} Server family: its processes are this one and its children */

/**
 * @typedef {object} LoadResult
 * @property {number} perSecond answers a second
 * @property {number} p50Ms
 * @property {number} p99Ms
 * @property {number[]} p99MsBySecond of each second, the last of which may be a moment
 * @property {[bucket: number, count: number][][]} [countsBySecond] what was counted of each second, if it was asked for
 * @property {Record<string, number>} statuses answers by status
 * @property {number} limitedShare answers with RateLimit headers, 0 to 1
 * @property {number} [lateP50Ms] how late the load generator asked where it had a rate to keep, by its own fault: with a connection free
 * @property {number} [lateP99Ms]
 * @property {number} busy share of a core that the load generator itself used
 * @property {number | undefined} serverBusy share of a core that the server used, all its processes together; far below 1, and something else was the bottleneck
 */

/**
 * @typedef {object} LoadOptions
 * @property {string[]} merchants that ask in turn
 * @property {{ path: string, bodies: string[] }} [post] what is sent in turn, instead of GET by merchants
 * @property {{ path: string, messages: string[] }} [grpc] what is called in turn, by gRPC; the status of what is answered is 0
 * @property {string[]} [callers] the headers that say who asks, instead of X-Merchant-Id of the merchants
 * @property {number} seconds
 * @property {number} warmupSeconds
 * @property {boolean} [limited] whether all answers (true) or none (false) must show that a rule was asked
 * @property {boolean} [quick] answers may be what they are
 * @property {string} [status] of all answers, 200 unless given
 * @property {number} [perSecond] no more than that
 * @property {number} [connections] of HTTP/1.1, 64 unless given
 * @property {string} [ca] speaks TLS, and believes who is vouched for by this
 * @property {boolean} [http2] instead of HTTP/1.1; by TLS only
 * @property {boolean} [tellsCounts] tells all latencies of each second
 * @property {() => void} [onMeasuring] called when the warm-up is over
 */

/** @param {import('./workshop.mjs').Workshop} workshop @returns {Promise<Server>} */
export async function startUpstream(workshop) {
  return announced(workshop.node(join(ROOT, 'bench', 'load', 'upstream.mjs')));
}

/** A server of ours that prints its port. @param {import('./workshop.mjs').Job} job @returns {Promise<Server>} */
export async function announced(job) {
  const line = await job.line((text) => text.startsWith('listening '), 30_000);
  return { port: Number(line.split(' ')[1]), pid: job.pid };
}

/**
 * The built gateway on the measured core, with its own Redis and PostgreSQL. It knows merchants with a rule that lets
 * everything pass (`ruled`, and `leased`), merchants whose rules are none (`free`), and some that are refused (`refused`).
 * @param {import('./workshop.mjs').Workshop} workshop
 * @param {Server} upstream
 * @param {string} redisUrl
 * @param {Record<string, string>} [env] besides what it needs
 * @param {{ defaultRules?: boolean }} [options] false: those that Redis has stay
 */
export async function startGateway(workshop, upstream, redisUrl, env = {}, { defaultRules = true } = {}) {
  const databaseUrl = await emptyDatabase(workshop);
  const ruled = await writeMerchants(redisUrl, 'ruled', MERCHANTS, defaultRules, { endless: true });
  const leased = await writeMerchants(redisUrl, 'leased', MERCHANTS, defaultRules, { endless: true, consistency: 'leased' });
  const free = await writeMerchants(redisUrl, 'free', MERCHANTS, defaultRules, { rules: false });
  const refused = await writeMerchants(redisUrl, 'refused', FLOODING, defaultRules, { limit: EXHAUSTED });
  const server = await openGateway(workshop, { upstream, redisUrl, databaseUrl, env });
  return { server, ruled, leased, free, refused, databaseUrl };
}

/** A database in which there are only tables. @param {import('./workshop.mjs').Workshop} workshop */
export async function emptyDatabase(workshop) {
  const databaseUrl = (await workshop.postgres()).url;
  await migrated(databaseUrl);
  return databaseUrl;
}

/**
 * One more gateway on the measured core, or on all of them.
 * @param {import('./workshop.mjs').Workshop} workshop
 * @param {{ upstream: Server, redisUrl: string, databaseUrl: string, env?: Record<string, string>, measured?: boolean | 'all' }} what env: besides what it needs
 * @returns {Promise<Server>}
 */
export async function openGateway(workshop, { upstream, redisUrl, databaseUrl, env = {}, measured = true }) {
  const job = workshop.node(bundleOf('gateway'), {
    measured,
    env: {
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      UPSTREAM_URL: `http://127.0.0.1:${upstream.port}`,
      GATEWAY_PORT: '0',
      GATEWAY_MANAGEMENT_PORT: '0',
      GATEWAY_WORKERS: '1',
      ...env,
    },
  });
  const listens = JSON.parse(await job.line((text) => text.includes('gateway listens'), 30_000));
  const management = JSON.parse(await job.line((text) => text.includes('management listens'), 30_000));
  await ready(management.managementUrl.replace('0.0.0.0', '127.0.0.1'));
  return { port: listens.port, pid: job.pid, family: env['GATEWAY_WORKERS'] !== undefined };
}

/**
 * A decision API on the measured core, and merchants with a rule that lets everything pass: decided about by Redis (`merchants`), or from leases.
 * @param {import('./workshop.mjs').Workshop} workshop
 * @param {string} redisUrl
 * @returns {Promise<{ server: Server, grpc: Server, merchants: string[], leased: string[], databaseUrl: string }>}
 */
export async function startDecisionApi(workshop, redisUrl) {
  const databaseUrl = await emptyDatabase(workshop);
  const merchants = await writeMerchants(redisUrl, 'ruled', MERCHANTS, true, { endless: true });
  const leased = await writeMerchants(redisUrl, 'leased', MERCHANTS, false, { endless: true, consistency: 'leased' });
  const job = workshop.node(bundleOf('decision-api'), { measured: true, env: decisionApiEnvironment(redisUrl, databaseUrl) });
  const listens = JSON.parse(await job.line((text) => text.includes('decision API listens'), 30_000));
  const management = JSON.parse(await job.line((text) => text.includes('management listens'), 30_000));
  await ready(management.managementUrl.replace('0.0.0.0', '127.0.0.1'));
  const [server, grpc] = [listens.port, listens.grpcPort].map((port) => ({ port, pid: job.pid }));
  return { server: /** @type {Server} */ (server), grpc: /** @type {Server} */ (grpc), merchants, leased, databaseUrl };
}

/** @param {string} redisUrl @param {string} databaseUrl @returns {Record<string, string>} */
export function decisionApiEnvironment(redisUrl, databaseUrl) {
  return {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    DECISION_API_PORT: '0',
    DECISION_API_GRPC_PORT: '0',
    DECISION_API_MANAGEMENT_PORT: '0',
    // Its one caller asks as often as it is answered.
    DECISION_API_CALLER_PER_SECOND: '1000000',
  };
}

/** @param {string} url */
async function migrated(url) {
  const dataSource = await createDataSource(url).initialize();
  await migrate(dataSource);
  await dataSource.destroy();
}

/**
 * @param {string} redisUrl
 * @param {string} name
 * @param {number} count
 * @param {boolean} defaultRules whether to write that there are none
 * @param {{ rules?: boolean, endless?: boolean, limit?: object, conditions?: number, consistency?: 'leased' }} options
 * @returns {Promise<string[]>} their ids
 */
export async function writeMerchants(redisUrl, name, count, defaultRules, options) {
  const redis = createRedis(redisUrl, 'queue-worker');
  const store = new RedisSnapshotStore(redis);
  const ids = Array.from({ length: count }, (_, i) => `${name}-${i}`);
  if (defaultRules) await store.writeDefaultRules({ version: 1, rules: [] });
  await store.write(
    ids.map((id, i) => snapshotOf(i, { id, ...options })),
    SNAPSHOT_TTL_MS,
  );
  redis.disconnect();
  return ids;
}

/** @param {string} managementUrl */
async function ready(managementUrl) {
  for (const end = Date.now() + 30_000; ; await sleep(50)) {
    const response = await fetch(`${managementUrl}/readyz`, { signal: AbortSignal.timeout(2000) }).catch(() => undefined);
    const text = await response?.text();
    if (response?.status === 200) return;
    if (Date.now() > end) throw new Error(`the gateway was not ready within 30 s: ${text ?? 'no answer'}`);
  }
}

/**
 * Loads a server for a while.
 * @param {import('./workshop.mjs').Workshop} workshop
 * @param {Server} server
 * @param {LoadOptions} options
 * @returns {Promise<LoadResult>}
 */
export async function load(workshop, server, options) {
  const {
    merchants,
    callers = merchants.map(byHeader),
    seconds,
    warmupSeconds,
    limited,
    quick = false,
    status = '200',
    perSecond,
    connections = CONNECTIONS,
  } = options;
  const { ca, http2 = false, post, grpc, tellsCounts } = options;
  const settings = {
    port: server.port,
    ...(http2 || grpc ? { connections: HTTP2_CONNECTIONS, streams: CONNECTIONS / HTTP2_CONNECTIONS } : { connections }),
    warmupMs: warmupSeconds * 1000,
    measureMs: seconds * 1000,
    callers,
    post,
    grpc,
    perSecond,
    ca,
    tellsCounts,
  };
  const script = join(ROOT, 'bench', 'load', grpc ? 'grpc-load.mjs' : http2 ? 'http2-load.mjs' : 'http-load.mjs');
  // A thousand tokens are more than an argument may be.
  const file = join(workshop.directory(), 'load.json');
  writeFileSync(file, JSON.stringify(settings));
  const job = workshop.node(script, { args: [file] });
  const withinMs = (warmupSeconds + seconds) * 1000 + 15_000;
  await job.line((line) => line === 'measuring', withinMs);
  const used = () => (server.family ? cpuSecondsOfFamily(server.pid) : cpuSeconds(server.pid));
  options.onMeasuring?.();
  const [startedMs, before] = [performance.now(), used()];
  const result = JSON.parse(await job.line((line) => line.startsWith('{'), withinMs));
  const after = used();
  if (before !== undefined && after !== undefined) result.serverBusy = (after - before) / ((performance.now() - startedMs) / 1000);
  await job.ended;
  if (!quick) demandMeant(result, status, limited);
  return result;
}

/** @param {string} merchant */
const byHeader = (merchant) => `x-merchant-id: ${merchant}`;

/**
 * What a server answers in a second of its core: a comparison also where the load generator needs the more of its own.
 * @param {LoadResult} result
 */
export const perBusySecond = ({ perSecond, serverBusy }) => perSecond / (serverBusy || 1);

/**
 * Answers of another kind cost another time: more than a few of them, and something else was measured.
 * @param {LoadResult} result
 * @param {string} meant
 * @param {boolean | undefined} limited
 */
function demandMeant({ statuses, limitedShare }, meant, limited) {
  const answers = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  const wrong = Object.entries(statuses).filter(([status]) => status !== meant);
  if (answers - (statuses[meant] ?? 0) > answers * TOLERATED_SHARE) {
    throw new Error(
      `of ${answers} answers ${wrong.map(([status, count]) => `${count} were ${status}`).join(', ')}; is the machine busy with something else?`,
    );
  }
  if (limited !== undefined && Math.abs(limitedShare - Number(limited)) > TOLERATED_SHARE) {
    throw new Error(
      `${(limitedShare * 100).toFixed(1)} % of the answers show that a rule was asked; it should be ${limited ? 'all' : 'none'}`,
    );
  }
}

/**
 * Asks a server until its code is compiled and its caches are warm.
 * @param {import('./workshop.mjs').Workshop} workshop
 * @param {Server} server
 * @param {Omit<LoadOptions, 'warmupSeconds' | 'limited' | 'quick' | 'status'>} options
 */
export async function warmUp(workshop, server, { seconds, ...options }) {
  await load(workshop, server, { ...options, warmupSeconds: seconds, seconds: 0.5, quick: true });
}
