/** Asks the Rules API as an administrator, and measures how long it takes. */
import { performance } from 'node:perf_hooks';
import { Pool } from 'undici';
import { median } from './figures.mjs';

export const TOKEN = 'admin-token-of-the-benchmarks';
const CONNECTIONS = 8;
const PAGE = 200;

export class RulesApiClient {
  /** @type {Pool} */
  #pool;

  /** @param {number} port @param {number} pid */
  constructor(port, pid) {
    this.pid = pid;
    this.url = `http://127.0.0.1:${port}`;
    this.#pool = new Pool(this.url, { connections: CONNECTIONS, pipelining: 1 });
  }

  close() {
    return this.#pool.close();
  }

  /**
   * @param {'GET' | 'POST' | 'PATCH'} method
   * @param {string} path
   * @param {object} [body]
   */
  async ask(method, path, body) {
    const headers = { authorization: `Bearer ${TOKEN}`, 'if-match': '*', ...(body && { 'content-type': 'application/json' }) };
    const answer = await this.#pool.request({ method, path, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${method} ${path} answered ${answer.statusCode}: ${text.slice(0, 300)}`);
    return /** @type {any} */ (JSON.parse(text));
  }

  /** Asks on every connection for so long. @param {number} seconds @param {(n: number) => Promise<unknown>} work */
  async loop(seconds, work) {
    const startedMs = performance.now();
    const endMs = startedMs + seconds * 1000;
    /** @type {number[]} */
    const timesMs = [];
    let n = 0;
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        while (performance.now() < endMs) timesMs.push(...(await this.timesOf(1, () => work(n++))));
      }),
    );
    return { timesMs, perSecond: timesMs.length / ((performance.now() - startedMs) / 1000) };
  }

  /** One after the other. @param {number} count @param {(n: number) => Promise<unknown>} work */
  async timesOf(count, work) {
    const times = [];
    for (let n = 0; n < count; n++) {
      const startedMs = performance.now();
      await work(n);
      times.push(performance.now() - startedMs);
    }
    return times;
  }

  /** Walks through the whole list of merchants, and compares its first twentieth with its last one. @param {number} merchants */
  async walk(merchants) {
    /** @type {number[]} */
    const times = [];
    let seen = 0;
    /** @type {string | null} */
    let cursor = '';
    while (cursor !== null) {
      const query = /** @type {string} */ (cursor) === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const startedMs = performance.now();
      const page = await this.ask('GET', `/v1/merchants?limit=${PAGE}${query}`);
      times.push(performance.now() - startedMs);
      seen += page.items.length;
      cursor = page.nextCursor;
    }
    if (seen !== merchants) throw new Error(`the list has ${seen} merchants, not ${merchants}`);
    const share = Math.max(1, Math.floor(times.length / 20));
    return { first: median(times.slice(0, share)), last: median(times.slice(-share)), pages: times.length };
  }
}
