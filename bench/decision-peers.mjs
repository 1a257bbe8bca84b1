/** What a decision costs that is asked by gRPC: answers in a second of a core, against services that others run for this. The same load generator asks all of them. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import protobuf from 'protobufjs';
import { freePort } from '../scripts/ports.mjs';
import { rateLimitMessages } from './decision-api-grpc.mjs';
import { loadText } from './gateway-limiting.mjs';
import { obtainThrottlecrab, THROTTLECRAB } from './shared/cargo-peers.mjs';
import { figure, interleaved, median, ratios } from './shared/figures.mjs';
import { GO_PEERS, obtainGoPeer } from './shared/go-peers.mjs';
import { load, perBusySecond, startDecisionApi, warmUp } from './shared/http-bed.mjs';

export const title = 'decision API: against envoyproxy/ratelimit, gubernator and throttlecrab';

/** So large that nothing is refused: to pass costs more than to refuse. */
const ENDLESS = 1_000_000_000;
const START_TIMEOUT_MS = 30_000;

/**
 * @typedef {object} Side
 * @property {import('./shared/http-bed.mjs').Server} server
 * @property {{ path: string, messages: string[] }} grpc
 */

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const redis = await workshop.redis();
  const { grpc: ours, merchants } = await startDecisionApi(workshop, redis.url);
  const call = await rateLimitMessages(merchants);
  /** @type {Record<string, Side>} */
  const sides = { ours: { server: ours, grpc: call } };
  for (const [name, { obtain, start }] of Object.entries(PEERS)) {
    const found = await obtain(say);
    if ('missing' in found) say(`NOT COMPARED with ${name}: ${found.missing}`);
    else sides[name] = await start(workshop, found.program, merchants, redis.url, call);
  }
  say('NOT COMPARED with limitador: of its server there is no package, only of the library in it');
  const common = { merchants, status: '0', seconds, warmupSeconds, quick };
  for (const { server, grpc } of Object.values(sides)) await warmUp(workshop, server, { merchants, grpc, seconds: warmupSeconds });

  const measured = Object.entries(sides).map(([name, { server, grpc }]) => [name, () => load(workshop, server, { ...common, grpc })]);
  const results = await interleaved(rounds, Object.fromEntries(measured), (side, round, result) => {
    say(`round ${round}: ${side.padEnd(10)} ${loadText(result)}`);
  });
  const perSecond = (/** @type {string} */ side) => (results[side] ?? []).map(perBusySecond);
  const p99Ms = (/** @type {string} */ side) => median((results[side] ?? []).map((each) => each.p99Ms));
  const peers = Object.entries(PEERS).filter(([name]) => name in sides);
  return [
    figure('  ShouldRateLimit', perSecond('ours'), { unit: '/s', details: { p99Ms: p99Ms('ours') } }),
    ...peers.flatMap(([name, { title, goal }]) => [
      figure(`decision API, gRPC: ShouldRateLimit / ${title}`, ratios(perSecond('ours'), perSecond(name)), {
        ...(goal && { goal }),
        details: { ours: results['ours'], [name]: results[name] },
      }),
      figure(`  ${title}`, perSecond(name), { unit: '/s', details: { p99Ms: p99Ms(name) } }),
    ]),
  ];
}

/**
 * @typedef {object} Peer
 * @property {string} title
 * @property {import('./shared/figures.mjs').Figure['goal']} [goal]
 * @property {(say: (line: string) => void) => Promise<{ program: string } | { missing: string }> | { program: string } | { missing: string }} obtain
 * @property {(workshop: import('./shared/workshop.mjs').Workshop, program: string, merchants: string[], redisUrl: string, call: Side['grpc']) => Promise<Side>} start
 *   as its documentation recommends, and what it is asked
 */

/** @type {Peer['start']} */
async function startRatelimit(workshop, program, _merchants, redisUrl, call) {
  const folder = workshop.directory();
  mkdirSync(join(folder, 'bench', 'config'), { recursive: true });
  writeFileSync(join(folder, 'bench', 'config', 'bench.yaml'), CONFIGURATION);
  const [port, http, debug] = [await freePort(), await freePort(), await freePort()];
  const server = await listening(workshop, program, port, {
    GRPC_HOST: '127.0.0.1',
    GRPC_PORT: String(port),
    HOST: '127.0.0.1',
    PORT: String(http),
    DEBUG_HOST: '127.0.0.1',
    DEBUG_PORT: String(debug),
    LOG_LEVEL: 'WARN',
    // Otherwise it logs each of them.
    DISABLE_STATS: 'true',
    RUNTIME_ROOT: folder,
    RUNTIME_SUBDIRECTORY: 'bench',
    RUNTIME_WATCH_ROOT: 'false',
    REDIS_SOCKET_TYPE: 'tcp',
    REDIS_URL: redisUrl.replace('redis://', ''),
    // Its README: for optimal performance.
    REDIS_PIPELINE_WINDOW: '150us',
    LIMIT_RESPONSE_HEADERS_ENABLED: 'true',
  });
  return { server, grpc: call };
}

/** @type {Peer['start']} */
async function startGubernator(workshop, program, merchants) {
  const port = await freePort();
  const server = await listening(workshop, program, port, {}, [`127.0.0.1:${port}`]);
  const messages = encoded(
    GUBERNATOR_MESSAGES,
    merchants.map((uniqueKey) => ({ requests: [{ name: 'bench', uniqueKey, hits: 1, limit: ENDLESS, duration: 1000 }] })),
  );
  return { server, grpc: { path: '/pb.gubernator.V1/GetRateLimits', messages } };
}

/** @type {Peer['start']} */
async function startThrottlecrab(workshop, program, merchants) {
  const port = await freePort();
  const server = await listening(workshop, program, port, {}, [
    '--grpc',
    '--grpc-host',
    '127.0.0.1',
    '--grpc-port',
    String(port),
    '--log-level',
    'warn',
  ]);
  const messages = encoded(
    THROTTLECRAB_MESSAGE,
    merchants.map((key) => ({ key, maxBurst: ENDLESS, countPerPeriod: ENDLESS, period: 1, quantity: 1 })),
  );
  return { server, grpc: { path: '/throttlecrab.RateLimiter/Throttle', messages } };
}

/** @type {Record<string, Peer>} */
const PEERS = {
  ratelimit: {
    title: `envoyproxy/ratelimit ${GO_PEERS.ratelimit.version.slice(-12)} on Redis`,
    goal: { atLeast: 1 },
    obtain: (say) => obtainGoPeer('ratelimit', say),
    start: startRatelimit,
  },
  gubernator: {
    title: `gubernator ${GO_PEERS.gubernator.version}, in memory`,
    goal: { atLeast: 1 },
    obtain: (say) => obtainGoPeer('gubernator', say),
    start: startGubernator,
  },
  // One process in memory, which shares its counts with nobody: what such a thing costs, and no goal.
  throttlecrab: { title: `throttlecrab ${THROTTLECRAB.version}, in memory`, obtain: obtainThrottlecrab, start: startThrottlecrab },
};

/**
 * @param {string} source of one message @param {object[]} requests
 * @returns {string[]} in base64
 */
function encoded(source, requests) {
  const [type] = protobuf.parse(`syntax = "proto3"; ${source}`).root.nestedArray;
  if (!(type instanceof protobuf.Type)) throw new Error('the first is not a message');
  return requests.map((request) => Buffer.from(type.encode(type.create(request)).finish()).toString('base64'));
}

/** The same limit for each merchant, method and path that ours counts by merchant. */
const CONFIGURATION = `domain: bench
descriptors:
  - key: merchant
    descriptors:
      - key: method
        descriptors:
          - key: path
            rate_limit: { unit: second, requests_per_unit: ${ENDLESS} }
`;

/** As much of their messages as is asked here. */
const GUBERNATOR_MESSAGES = `
message GetRateLimitsReq { repeated RateLimitReq requests = 1; }
message RateLimitReq { string name = 1; string unique_key = 2; int64 hits = 3; int64 limit = 4; int64 duration = 5; }
`;
const THROTTLECRAB_MESSAGE =
  'message ThrottleRequest { string key = 1; int32 max_burst = 2; int32 count_per_period = 3; int32 period = 4; int32 quantity = 5; }';

/**
 * Starts a program on the measured core, and waits until it listens.
 * @param {import('./shared/workshop.mjs').Workshop} workshop
 * @param {string} program
 * @param {number} port
 * @param {Record<string, string>} env
 * @param {string[]} [args]
 * @returns {Promise<import('./shared/http-bed.mjs').Server>}
 */
async function listening(workshop, program, port, env, args = []) {
  const job = workshop.start(program, { measured: true, args, env: { GOMAXPROCS: '1', ...env } });
  let failure;
  job.ended.catch((error) => (failure = error));
  for (const end = Date.now() + START_TIMEOUT_MS; !(await accepts(port)); await sleep(50)) {
    if (failure !== undefined) throw failure;
    if (Date.now() > end) throw new Error(`${program} does not listen after ${START_TIMEOUT_MS / 1000} s`);
  }
  return { port, pid: job.pid };
}

/** @param {number} port @returns {Promise<boolean>} */
function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
