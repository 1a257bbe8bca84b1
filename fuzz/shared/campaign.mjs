/** Runs many cases by hand: starts the proxies, tells how far it is, and whether something stayed behind. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { build } from '../../scripts/build.mjs';
import { asText, describeFailure, fuzz } from './fuzz.mjs';

const PROGRESS_EVERY_MS = 10_000;
const MOST_FAILURES = 10;
/** After so much of a run everything is compiled, and every pool is filled. */
const WARM_AFTER = 0.2;
/** What the gateway may hold more at the end than it did then. */
const MOST_GROWTH_MB = 64;
const MOST_SOCKETS_MORE = 50;

/**
 * Starts proxies of the gateway that was built.
 * @param {{ cert: string, key: string }} [pair] with it they speak TLS, and HTTP/2
 */
export async function proxyStarter(pair) {
  await build();
  /** @type {typeof import('../../apps/gateway/src/proxy/index.js')} */
  const { ProxyMetrics, ProxyServer } = await import(new URL('../../dist/apps/gateway/src/proxy/index.js', import.meta.url).href);
  const logger = { warn: () => {}, error: (/** @type {object} */ fields) => console.error(fields) };
  const tls = pair && { pair, clientCertificate: /** @type {const} */ ('optional'), http2: true, maxStreams: 100 };
  return async (/** @type {URL} */ upstream, /** @type {any} */ admit, /** @type {boolean} */ trusted, fastLane = false) => {
    const metrics = new ProxyMetrics();
    const proxy = new ProxyServer({ upstream, metrics, logger, admit, tls, fastLane, trusts: () => trusted });
    const port = await proxy.listen(0, '127.0.0.1');
    return { port, inFlight: () => metrics.inFlight, close: () => proxy.close(0) };
  };
}

/**
 * @template {import('./fuzz.mjs').AnyCase} C
 * @template {import('./fuzz.mjs').AnySeen} S
 * @param {readonly [import('./fuzz.mjs').Subject<C, S>, ...import('./fuzz.mjs').Subject<C, S>[]]} subjects
 * @param {{ cases: number, seed: number, from: number }} options
 * @param {(pieces: readonly string[]) => string} [describe]
 * @returns {Promise<number>} the exit code
 */
export async function campaign(subjects, { cases, seed, from }, describe = asText) {
  const startedMs = performance.now();
  let toldMs = startedMs;
  /** @type {ReturnType<typeof held> | undefined} */
  let warm;
  const { failures, seen } = await fuzz(subjects, {
    ...{ cases, seed, from, mostFailures: MOST_FAILURES },
    onFailure: (failure) => console.error(describeFailure(failure, describe)),
    onProgress: (done) => {
      if (warm === undefined && done >= cases * WARM_AFTER) warm = held();
      if (performance.now() - toldMs < PROGRESS_EVERY_MS) return;
      toldMs = performance.now();
      console.log(`${done} of ${cases} cases, ${Math.round((done / (toldMs - startedMs)) * 1000)} a second`);
    },
  });
  const { asked, reached, refused } = seen;
  console.log(
    `seed ${seed}: ${asked} requests were decided about; the upstream was reached in ${reached} cases; ${refused} had a refusal; ${failures.length} failed`,
  );
  return failures.length === 0 && staysBounded(warm ?? held(), held()) ? 0 : 1;
}

/** What this process holds: the client's side, the gateway's, and the upstream's. */
function held() {
  setFlagsFromString('--expose-gc');
  /** @type {() => void} */ (runInNewContext('gc'))();
  const { heapUsed, external } = process.memoryUsage();
  return {
    megabytes: (heapUsed + external) / 2 ** 20,
    sockets: process.getActiveResourcesInfo().filter((each) => each === 'TCPSocketWrap').length,
  };
}

/** @param {ReturnType<typeof held>} before @param {ReturnType<typeof held>} after */
function staysBounded(before, after) {
  console.log(
    `held after a fifth of the cases: ${before.megabytes.toFixed(1)} MB, ${before.sockets} sockets; at the end ${after.megabytes.toFixed(1)} MB, ${after.sockets} sockets`,
  );
  const isBounded = after.megabytes - before.megabytes <= MOST_GROWTH_MB && after.sockets - before.sockets <= MOST_SOCKETS_MORE;
  if (!isBounded) console.error('More stays behind with every case.');
  return isBounded;
}
