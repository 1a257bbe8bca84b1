/** The Rules API with a million merchants and three million rules: reads, writes, pages, searches, explanations, and its memory. */
import { performance } from 'node:perf_hooks';
import { Pool } from 'undici';
import { mainOf } from '../scripts/paths.mjs';
import { freePort } from '../scripts/ports.mjs';
import { figure, median } from './shared/figures.mjs';
import { merchantId } from './shared/merchants.mjs';
import { residentBytes } from './shared/proc.mjs';
import { fillWithRules, PLAN, RULES_OF_A_MERCHANT } from './shared/rules-bed.mjs';

export const title = 'the Rules API with a million merchants';

const MERCHANTS = 1_000_000;
const MERCHANTS_QUICK = 10_000;
const PAGE = 200;
const CONNECTIONS = 8;
const TOKEN = 'admin-token-of-the-benchmarks';
const START_TIMEOUT_MS = 60_000;
const MOST_SEARCH_MS = 100;
const MOST_EXPLAIN_MS = 5;
/** Answers to a search or an explanation that a percentile is made of. */
const SAMPLES = 200;

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, seconds, quick, say }) {
  const merchants = quick ? MERCHANTS_QUICK : MERCHANTS;
  const [postgres, redis] = [await workshop.postgres(), await workshop.redis()];
  const startedMs = performance.now();
  await fillWithRules(postgres.url, merchants);
  const named = merchants.toLocaleString('en');
  say(`${named} merchants with ${RULES_OF_A_MERCHANT} rules each, made in ${Math.round((performance.now() - startedMs) / 1000)} s`);
  const port = await freePort();
  const job = workshop.node(mainOf('rules-api'), {
    measured: true,
    env: { DATABASE_URL: postgres.url, BUCKETS_REDIS_URL: redis.url, RULES_API_PORT: String(port), TOLLGATE_ADMIN_TOKEN: TOKEN },
  });
  await job.line((line) => line.includes('migrated and ready'), START_TIMEOUT_MS);
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: CONNECTIONS, pipelining: 1 });
  try {
    const anyMerchant = () => merchantId(Math.floor(Math.random() * merchants));
    const read = await loop(seconds, () => ask(pool, 'GET', `/v1/merchants/${anyMerchant()}/rules`));
    const write = await loop(seconds, (n) => ask(pool, 'PATCH', `/v1/merchants/${anyMerchant()}`, { name: `Renamed ${n}` }));
    const pages = await walk(pool, merchants);
    const searches = await timesOf(SAMPLES, (n) => ask(pool, 'GET', `/v1/merchants?${SEARCHES[n % SEARCHES.length]}`));
    const explanations = await timesOf(SAMPLES, () =>
      ask(pool, 'POST', '/v1/explain', { merchantId: anyMerchant(), request: { method: 'POST', path: '/transactions/7' } }),
    );
    const bytes = residentBytes(job.pid) ?? NaN;
    return [
      figure(`rules-api: rules of one of ${named} merchants`, [read.perSecond], { unit: '/s' }),
      figure('  p99', [percentile(read.timesMs, 0.99)], { unit: 'ms' }),
      figure('rules-api: changes of merchants', [write.perSecond], { unit: '/s' }),
      figure('  p99', [percentile(write.timesMs, 0.99)], { unit: 'ms' }),
      figure('rules-api: last pages of the list / first pages', [pages.last / pages.first], { goal: { atMost: 1.5 }, details: pages }),
      figure('rules-api: search by name, label or plan, p99', [percentile(searches, 0.99)], {
        unit: 'ms',
        goal: { atMost: MOST_SEARCH_MS },
      }),
      figure('rules-api: explain, median', [median(explanations)], { unit: 'ms', goal: { atMost: MOST_EXPLAIN_MS } }),
      figure('  p99', [percentile(explanations, 0.99)], { unit: 'ms' }),
      figure('rules-api: memory of the Rules API', [bytes / 2 ** 20], { unit: 'MB' }),
    ];
  } finally {
    await pool.close();
  }
}

/** Common ones, rare ones, and such that find nothing. */
const SEARCHES = [
  'name=merchant%2099',
  'name=nobody',
  'label=tier%3Dgold',
  'label=region%3Deu',
  'label=no%3Dsuch',
  `plan=${PLAN}`,
  `plan=${PLAN}&label=tier%3Dgold`,
];

/**
 * @param {Pool} pool
 * @param {'GET' | 'POST' | 'PATCH'} method
 * @param {string} path
 * @param {object} [body]
 */
async function ask(pool, method, path, body) {
  const headers = { authorization: `Bearer ${TOKEN}`, 'if-match': '*', ...(body && { 'content-type': 'application/json' }) };
  const answer = await pool.request({ method, path, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${method} ${path} answered ${answer.statusCode}: ${text.slice(0, 300)}`);
  return /** @type {any} */ (JSON.parse(text));
}

/** Asks on every connection for so long. @param {number} seconds @param {(n: number) => Promise<unknown>} work */
async function loop(seconds, work) {
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1000;
  /** @type {number[]} */
  const timesMs = [];
  let n = 0;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (performance.now() < endMs) timesMs.push(...(await timesOf(1, () => work(n++))));
    }),
  );
  return { timesMs, perSecond: timesMs.length / ((performance.now() - startedMs) / 1000) };
}

/** One after the other. @param {number} count @param {(n: number) => Promise<unknown>} work */
async function timesOf(count, work) {
  const times = [];
  for (let n = 0; n < count; n++) {
    const startedMs = performance.now();
    await work(n);
    times.push(performance.now() - startedMs);
  }
  return times;
}

/** Walks through the whole list, and compares its first twentieth with its last one. @param {Pool} pool @param {number} merchants */
async function walk(pool, merchants) {
  /** @type {number[]} */
  const times = [];
  let seen = 0;
  /** @type {string | null} */
  let cursor = '';
  while (cursor !== null) {
    const query = /** @type {string} */ (cursor) === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const startedMs = performance.now();
    const page = await ask(pool, 'GET', `/v1/merchants?limit=${PAGE}${query}`);
    times.push(performance.now() - startedMs);
    seen += page.items.length;
    cursor = page.nextCursor;
  }
  if (seen !== merchants) throw new Error(`the list has ${seen} merchants, not ${merchants}`);
  const share = Math.max(1, Math.floor(times.length / 20));
  return { first: median(times.slice(0, share)), last: median(times.slice(-share)), pages: times.length };
}

/** @param {number[]} values @param {number} share */
function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
