/** Four gateways with their preloader, and how soon they decide by rules that were changed. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { bundleOf } from '../../scripts/paths.mjs';
import { startUpstream } from './http-bed.mjs';
import { MemorySampler, residentBytes } from './proc.mjs';

const GATEWAYS = 4;
/** Requests under way at each gateway while caches are filled. */
const CONNECTIONS = 16;
/** Between two requests that ask whether a change has come. */
const POLL_MS = 5;
const LONGEST_MS = 10_000;
const START_TIMEOUT_MS = 60_000;
const PRELOAD_TIMEOUT_MS = 600_000;

/** @typedef {{ pool: Pool, job: import('./workshop.mjs').Job }} Gateway */

/**
 * The preloader, which carries every merchant to Redis first.
 * @param {import('./workshop.mjs').Workshop} workshop
 * @param {{ DATABASE_URL: string, REDIS_URL: string }} stores
 */
export async function startPreloader(workshop, stores) {
  const job = workshop.node(bundleOf('preloader'), { measured: true, env: { ...stores, PRELOADER_MANAGEMENT_PORT: '0' } });
  await job.line((line) => line.includes('full preload started'), START_TIMEOUT_MS);
  const memory = new MemorySampler(job.pid);
  const { merchants, durationMs } = JSON.parse(await job.line((line) => line.includes('full preload done'), PRELOAD_TIMEOUT_MS));
  return { job, merchants, seconds: durationMs / 1000, peakBytes: Math.max(...memory.stop()) };
}

/**
 * @param {import('./workshop.mjs').Workshop} workshop
 * @param {{ DATABASE_URL: string, REDIS_URL: string }} stores
 */
export async function startGateways(workshop, stores) {
  const upstream = await startUpstream(workshop);
  /** @type {Gateway[]} */
  const gateways = [];
  for (let i = 0; i < GATEWAYS; i++) {
    const job = workshop.node(bundleOf('gateway'), {
      measured: true,
      env: {
        ...stores,
        UPSTREAM_URL: `http://127.0.0.1:${upstream.port}`,
        GATEWAY_PORT: '0',
        GATEWAY_MANAGEMENT_PORT: '0',
        GATEWAY_WORKERS: '1',
        // Every merchant that is asked for stays in memory: what is measured is how a change reaches gateways that know the merchant.
        RULE_CACHE_MB: '1024',
        // Four gateways share one core here.
        STORE_TIMEOUT_MS: '1000',
      },
    });
    const { port } = JSON.parse(await job.line((line) => line.includes('gateway listens'), START_TIMEOUT_MS));
    gateways.push({ job, pool: new Pool(`http://127.0.0.1:${port}`, { connections: CONNECTIONS, pipelining: 1 }) });
  }
  return {
    gateways,
    /** The largest of them. */
    bytes: () => Math.max(...gateways.map(({ job }) => residentBytes(job.pid) ?? NaN)),
    async stop() {
      await Promise.all(gateways.map(({ pool }) => pool.destroy()));
      await Promise.all(gateways.map(({ job }) => job.stop()));
    },
  };
}

/**
 * The quota by which a gateway decides about a merchant's request; undefined if no limit was asked.
 * @param {Gateway} gateway
 * @param {string} merchant
 * @param {string} path
 */
export async function quotaAt({ pool }, merchant, path) {
  const answer = await pool.request({ method: 'GET', path, headers: { 'x-merchant-id': merchant } });
  await answer.body.dump();
  if (answer.statusCode !== 200) throw new Error(`a gateway answered ${answer.statusCode} to merchant ${merchant}`);
  const quota = /;q=(\d+)/.exec(String(answer.headers['ratelimit-policy']))?.[1];
  return quota === undefined ? undefined : Number(quota);
}

/**
 * Asks each gateway for merchants of its own, so that it knows them.
 * @param {Gateway[]} gateways
 * @param {string[][]} merchants of each gateway
 * @param {string} path
 * @param {number} quota that they must have
 */
export async function acquaint(gateways, merchants, path, quota) {
  await eachAt(gateways, merchants, async (gateway, merchant) => {
    const found = await quotaAt(gateway, merchant, path);
    if (found !== quota) throw new Error(`merchant ${merchant} has the quota ${found} at ${path}, not ${quota}`);
  });
}

/**
 * The time until all gateways decide about a merchant by a new quota.
 * @param {Gateway[]} gateways
 * @param {string} merchant
 * @param {string} path
 * @param {number} quota
 * @param {number} sinceMs when the change was answered, by performance.now()
 */
export async function feltEverywhere(gateways, merchant, path, quota, sinceMs) {
  const times = gateways.map(async (gateway) => {
    while ((await quotaAt(gateway, merchant, path)) !== quota) {
      demandInTime(sinceMs);
      await sleep(POLL_MS);
    }
    return performance.now() - sinceMs;
  });
  return Math.max(...(await Promise.all(times)));
}

/**
 * The time until each gateway decides about all of its merchants by a new quota.
 * @param {Gateway[]} gateways
 * @param {string[][]} merchants of each gateway
 * @param {string} path
 * @param {number} quota
 * @param {number} sinceMs when the change was answered, by performance.now()
 */
export async function feltByAll(gateways, merchants, path, quota, sinceMs) {
  await eachAt(gateways, merchants, async (gateway, merchant) => {
    while ((await quotaAt(gateway, merchant, path)) !== quota) demandInTime(sinceMs);
  });
  return performance.now() - sinceMs;
}

/** @param {number} sinceMs */
function demandInTime(sinceMs) {
  if (performance.now() - sinceMs > LONGEST_MS) throw new Error(`a change was not felt within ${LONGEST_MS / 1000} s`);
}

/**
 * Does something for each merchant at its gateway, some at once.
 * @param {Gateway[]} gateways
 * @param {string[][]} merchants
 * @param {(gateway: Gateway, merchant: string) => Promise<void>} work
 */
async function eachAt(gateways, merchants, work) {
  await Promise.all(
    gateways.flatMap((gateway, i) => {
      const left = (merchants[i] ?? []).values();
      return Array.from({ length: CONNECTIONS }, async () => {
        for (const merchant of left) await work(gateway, merchant);
      });
    }),
  );
}
