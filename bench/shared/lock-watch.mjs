/** How long somebody keeps everybody else from a table. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const EVERY_MS = 10;

const HELD = `
  SELECT DISTINCT c.relname AS name FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
  WHERE l.mode = 'AccessExclusiveLock' AND l.granted AND c.relname = ANY($1)`;

/** Looks again and again which tables are locked by ACCESS EXCLUSIVE. What is held shorter than between two looks is not seen. */
export class LockWatch {
  #over = new AbortController();
  /** Since when a table has been seen locked. @type {Map<string, number>} */
  #since = new Map();
  #longestMs = 0;
  /** @type {Promise<void>} */
  #watching;

  /** @param {pg.Client} client @param {readonly string[]} tables */
  constructor(client, tables) {
    this.#watching = this.#watch(client, tables);
  }

  /** @param {string} url @param {readonly string[]} tables */
  static async start(url, tables) {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return new LockWatch(client, tables);
  }

  /** The longest time for which one of the tables was locked, in milliseconds. */
  async stop() {
    this.#over.abort();
    await this.#watching;
    return this.#longestMs;
  }

  /** @param {pg.Client} client @param {readonly string[]} tables */
  async #watch(client, tables) {
    while (!this.#over.signal.aborted) {
      const { rows } = await client.query(HELD, [tables]);
      this.#seen(new Set(rows.map(({ name }) => name)), performance.now());
      await sleep(EVERY_MS);
    }
    await client.end();
  }

  /** @param {Set<string>} held @param {number} nowMs */
  #seen(held, nowMs) {
    for (const [table, sinceMs] of this.#since) {
      this.#longestMs = Math.max(this.#longestMs, nowMs - sinceMs);
      if (!held.has(table)) this.#since.delete(table);
    }
    for (const table of held) if (!this.#since.has(table)) this.#since.set(table, nowMs);
  }
}
