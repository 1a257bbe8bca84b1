/** Migrations over a million merchants: up from the first version, down, and up again, while somebody reads and writes. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { MIGRATIONS } from '#migrations';
import { createDataSource, migrate, revertLast } from '#rules-db';
import { figure } from './shared/figures.mjs';
import { LockWatch } from './shared/lock-watch.mjs';
import { merchantId } from './shared/merchants.mjs';
import { fillFirstSchema, giveLabelsAndPlans } from './shared/rules-bed.mjs';

export const title = 'migrations over a million merchants, up, down and up again, under readers and a writer';

const MERCHANTS = 1_000_000;
const MERCHANTS_QUICK = 10_000;
const PAUSE_MS = 5;
/** Longer than this no migration may keep everybody from a large table: it is what a statement of the Rules API may take. */
const LONGEST_LOCK_MS = 3_000;

/** @typedef {{ seconds: number, lockedMs: number, readMs: number, writtenMs: number }} Walk */

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, quick, say }) {
  const merchants = quick ? MERCHANTS_QUICK : MERCHANTS;
  const { url } = await workshop.postgres();
  await migrate(upTo(url, 1));
  await fillFirstSchema(url, merchants);
  // The first one makes the tables that are read and written.
  const others = MIGRATIONS.slice(1).map((_, i) => i + 2);
  const nameOf = (/** @type {number} */ count) => MIGRATIONS[count - 1]?.name ?? '';
  const up = () => walk(url, merchants, others, say, (count) => [`${nameOf(count)} up`, () => migrate(upTo(url, count))]);
  const first = await up();
  await giveLabelsAndPlans(url);
  const before = await counted(url);
  const down = await walk(url, merchants, others.toReversed(), say, (count) => [
    `${nameOf(count)} down`,
    () => revertLast(upTo(url, count)),
  ]);
  const again = await up();
  const after = await counted(url);
  if (before !== after) throw new Error(`there were ${before} merchants, rules and plans, and there are ${after}`);
  const named = merchants.toLocaleString('en');
  return [
    ...figuresOf(`migrations: ${others.length} up over ${named} merchants`, first, { atMost: LONGEST_LOCK_MS }),
    ...figuresOf('migrations: all of them down', down),
    ...figuresOf('migrations: up again, with what was archived', again),
  ];
}

/** A database that knows only the first migrations. @param {string} url @param {number} count */
const upTo = (url, count) => new DataSource({ ...createDataSource(url).options, migrations: MIGRATIONS.slice(0, count) });

/**
 * @param {string} url
 * @param {number} merchants
 * @param {readonly number[]} counts
 * @param {(line: string) => void} say
 * @param {(count: number) => [string, () => Promise<unknown>]} step
 */
async function walk(url, merchants, counts, say, step) {
  /** @type {Walk} */
  const all = { seconds: 0, lockedMs: 0, readMs: 0, writtenMs: 0 };
  for (const count of counts) {
    const [name, work] = step(count);
    const { seconds, lockedMs, readMs, writtenMs } = await underTraffic(url, merchants, work);
    say(
      `${name}: ${seconds.toFixed(1)} s, locked for ${Math.round(lockedMs)} ms, the longest read ${Math.round(readMs)} ms, the longest write ${Math.round(writtenMs)} ms`,
    );
    all.seconds += seconds;
    all.lockedMs = Math.max(all.lockedMs, lockedMs);
    all.readMs = Math.max(all.readMs, readMs);
    all.writtenMs = Math.max(all.writtenMs, writtenMs);
  }
  return all;
}

/** @param {string} name @param {Walk} all @param {import('./shared/figures.mjs').Figure['goal']} [goal] */
function figuresOf(name, { seconds, lockedMs, readMs, writtenMs }, goal) {
  return [
    figure(name, [seconds], { unit: 's' }),
    figure('  the longest that nobody reads or writes merchants or rules', [lockedMs], { unit: 'ms', goal }),
    figure('  the longest wait of a reader', [readMs], { unit: 'ms' }),
    figure('  the longest wait of a writer', [writtenMs], { unit: 'ms' }),
  ];
}

/** @param {string} url @param {number} merchants @param {() => Promise<unknown>} work @returns {Promise<Walk>} */
async function underTraffic(url, merchants, work) {
  const over = new AbortController();
  const ask = (/** @type {string} */ statement) => asking(url, statement, merchants, over.signal);
  const locks = await LockWatch.start(url, ['merchant', 'rule']);
  const asked = Promise.all([
    ask('SELECT m.name, r.name FROM merchant m JOIN rule r ON r.merchant_id = m.id WHERE m.id = $1'),
    ask('UPDATE merchant SET rules_version = rules_version + 1 WHERE id = $1'),
  ]);
  const startedMs = performance.now();
  try {
    await work();
  } finally {
    over.abort();
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const [readMs, writtenMs] = await asked;
  return { seconds, lockedMs: await locks.stop(), readMs, writtenMs };
}

/** Runs a statement for one merchant after the other, and returns its longest time. @param {string} url @param {string} statement @param {number} merchants @param {AbortSignal} over */
async function asking(url, statement, merchants, over) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  let longestMs = 0;
  while (!over.aborted) {
    const startedMs = performance.now();
    await client.query(statement, [merchantId(Math.floor(Math.random() * merchants))]);
    longestMs = Math.max(longestMs, performance.now() - startedMs);
    await sleep(PAUSE_MS);
  }
  await client.end();
  return longestMs;
}

/** Everything that must not get lost. @param {string} url */
async function counted(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(`
    SELECT (SELECT count(*) FROM merchant) || ' ' || (SELECT count(plan) FROM merchant) || ' ' || (SELECT count(*) FROM merchant WHERE labels <> '{}')
      || ' ' || (SELECT count(*) FROM rule) || ' ' || (SELECT count(*) FROM plan) AS all`);
  await client.end();
  return /** @type {string} */ (rows[0].all);
}
