/** Fuzzes the proxy of a gateway with HTTP/1.1 of all kinds, as npm test does with fewer cases. */
import { build } from '../scripts/build.mjs';
import { FuzzBed } from './http1/bed.mjs';
import { describeFailure, fuzz } from './http1/fuzz.mjs';

const PROGRESS_EVERY_MS = 10_000;
const MOST_FAILURES = 10;

/** @param {{ cases: number, seed: number, from: number }} options @returns {Promise<number>} the exit code */
export async function fuzzHttp1({ cases, seed, from }) {
  await build();
  /** @type {typeof import('../apps/gateway/src/proxy/index.js')} */
  const { ProxyMetrics, ProxyServer } = await import(new URL('../dist/apps/gateway/src/proxy/index.js', import.meta.url).href);
  /** @type {import('../apps/gateway/src/proxy/index.js').ProxyServer[]} */
  const proxies = [];
  const bed = await FuzzBed.open(async (upstream, admit) => {
    const started = [true, false].map((trusted) => {
      const metrics = new ProxyMetrics();
      const logger = { warn: () => {}, error: (/** @type {object} */ fields) => console.error(fields) };
      const proxy = new ProxyServer({ upstream, metrics, logger, admit, trusts: () => trusted });
      proxies.push(proxy);
      return { proxy, metrics };
    });
    const [trusting = 0, notTrusting = 0] = await Promise.all(started.map(({ proxy }) => proxy.listen(0, '127.0.0.1')));
    return { ports: [trusting, notTrusting], inFlight: () => started.reduce((sum, { metrics }) => sum + metrics.inFlight, 0) };
  });
  try {
    return await run(bed, { cases, seed, from });
  } finally {
    bed.close();
    await Promise.all(proxies.map((proxy) => proxy.close(0)));
  }
}

/** @param {FuzzBed} bed @param {{ cases: number, seed: number, from: number }} options */
async function run(bed, { cases, seed, from }) {
  const startedMs = performance.now();
  let toldMs = startedMs;
  const { failures, seen } = await fuzz(bed, {
    ...{ cases, seed, from, mostFailures: MOST_FAILURES },
    onProgress: (done) => {
      if (performance.now() - toldMs < PROGRESS_EVERY_MS) return;
      toldMs = performance.now();
      console.log(`${done} of ${cases} cases, ${Math.round((done / (toldMs - startedMs)) * 1000)} a second`);
    },
  });
  for (const failure of failures) console.error(describeFailure(failure));
  const { asked, reached, refused } = seen;
  console.log(
    `seed ${seed}: ${asked} requests were decided about; the upstream was reached in ${reached} cases; ${refused} had a refusal; ${failures.length} failed`,
  );
  return failures.length === 0 ? 0 : 1;
}
