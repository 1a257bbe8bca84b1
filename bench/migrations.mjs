/** Migrations over a million merchants: all but the first are reverted and run again, while somebody writes. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { MIGRATIONS } from '#migrations';
import { createDataSource, migrate, revertLast } from '#rules-db';
import { figure } from './shared/figures.mjs';
import { merchantId } from './shared/merchants.mjs';
import { fillWithRules } from './shared/rules-bed.mjs';

export const title = 'migrations over a million merchants, down and up again, under a writer';

const MERCHANTS = 1_000_000;
const MERCHANTS_QUICK = 10_000;
const PAUSE_MS = 5;

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, quick, say }) {
  const merchants = quick ? MERCHANTS_QUICK : MERCHANTS;
  const { url } = await workshop.postgres();
  await fillWithRules(url, merchants);
  const dataSource = createDataSource(url);
  const before = await counted(url);
  // The first one makes the tables that the writer writes to.
  let downSeconds = 0;
  let longestMs = 0;
  for (const { name } of [...MIGRATIONS].reverse().slice(0, -1)) {
    const { seconds, waitedMs } = await underWriter(url, merchants, () => revertLast(dataSource));
    say(`${name} down: ${seconds.toFixed(1)} s, the longest write ${Math.round(waitedMs)} ms`);
    downSeconds += seconds;
    longestMs = Math.max(longestMs, waitedMs);
  }
  const up = await underWriter(url, merchants, () => migrate(dataSource));
  say(`all up: ${up.seconds.toFixed(1)} s, the longest write ${Math.round(up.waitedMs)} ms`);
  const after = await counted(url);
  if (before !== after) throw new Error(`there were ${before} merchants, rules and plans, and there are ${after}`);
  const named = merchants.toLocaleString('en');
  return [
    figure(`migrations: ${MIGRATIONS.length - 1} down over ${named} merchants`, [downSeconds], { unit: 's' }),
    figure('  the longest wait of a writer', [longestMs], { unit: 'ms' }),
    figure('migrations: all of them up again', [up.seconds], { unit: 's' }),
    figure('  the longest wait of a writer', [up.waitedMs], { unit: 'ms' }),
  ];
}

/** @param {string} url @param {number} merchants @param {() => Promise<unknown>} work */
async function underWriter(url, merchants, work) {
  const writer = new pg.Client({ connectionString: url });
  await writer.connect();
  const over = new AbortController();
  let waitedMs = 0;
  const writing = (async () => {
    while (!over.signal.aborted) {
      const id = merchantId(Math.floor(Math.random() * merchants));
      const startedMs = performance.now();
      await writer.query('UPDATE merchant SET rules_version = rules_version + 1 WHERE id = $1', [id]);
      waitedMs = Math.max(waitedMs, performance.now() - startedMs);
      await sleep(PAUSE_MS);
    }
  })();
  const startedMs = performance.now();
  try {
    await work();
  } finally {
    over.abort();
    await writing;
    await writer.end();
  }
  return { seconds: (performance.now() - startedMs) / 1000, waitedMs };
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
