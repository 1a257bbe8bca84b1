/** Asks the Rules API as an administrator, and measures how long it takes. */
import { performance } from 'node:perf_hooks';
import { Pool } from 'undici';
import { median } from './figures.mjs';

export const TOKEN = 'admin-token-of-the-benchmarks';
const CONNECTIONS = 8;
export const PAGE = 200;

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

  /**
   * Reads the first pages of a list of merchants, and its last ones. Those between are left out: there are thousands.
   * @param {{ filter?: string, last: string, beforeEnd: string, pages: number }} list last: its last merchant; beforeEnd: one from which fewer pages than `pages` lead to the end
   */
  async ends({ filter = '', last, beforeEnd, pages }) {
    const first = await this.#pages(`/v1/merchants?limit=${PAGE}${filter}`, pages);
    if (first.nextCursor === null) throw new Error(`the list ${filter} has ${first.times.length} pages only`);
    const end = await this.#pages(`/v1/merchants?limit=${PAGE}${filter}&cursor=${moved(first.nextCursor, beforeEnd)}`, pages);
    if (end.nextCursor !== null || end.lastId !== last) throw new Error(`the list ${filter} ends with ${end.lastId}, not with ${last}`);
    return { first: median(first.times), last: median(end.times), pages: first.times.length + end.times.length };
  }

  /** @param {string} path @param {number} most */
  async #pages(path, most) {
    const times = [];
    let lastId = '';
    /** @type {string | null} */
    let nextCursor = null;
    for (let page = path; times.length < most; page = `${path.split('&cursor=')[0]}&cursor=${nextCursor}`) {
      const startedMs = performance.now();
      const { items, nextCursor: next } = await this.ask('GET', page);
      times.push(performance.now() - startedMs);
      lastId = items.at(-1).id;
      nextCursor = next;
      if (next === null) break;
    }
    return { times, lastId, nextCursor };
  }
}

/** A cursor of the same list that stands behind another merchant. @param {string} cursor @param {string} id */
function moved(cursor, id) {
  const [list] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  return Buffer.from(JSON.stringify([list, id])).toString('base64url');
}
