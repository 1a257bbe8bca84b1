/** A small transaction API for the gateway to stand in front of: it keeps the last transactions in memory. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { isMain } from '../paths.mjs';

const MOST_KEPT = 100;
const LARGEST_BODY_BYTES = 64 * 1024;

/**
 * @typedef {{ id: string, receivedAt: string, body: unknown }} Transaction
 */

/** @returns {import('node:http').Server} not yet listening */
export function createDemoApi() {
  /** @type {Transaction[]} the newest first */
  const transactions = [];
  return createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://demo');
    if (pathname === '/health') return answer(response, 200, { status: 'ok' });
    if (pathname !== '/transactions') return answer(response, 404, { error: `there is no ${pathname}` });
    if (request.method === 'GET' || request.method === 'HEAD') return answer(response, 200, { items: transactions.slice(0, 10) });
    if (request.method !== 'POST')
      return answer(response, 405, { error: `${request.method} is not for /transactions` }, { allow: 'GET, HEAD, POST' });

    const text = await bodyOf(request);
    if (text === undefined)
      return answer(response, 413, { error: `a transaction has at most ${LARGEST_BODY_BYTES} bytes` }, { connection: 'close' });
    const transaction = { id: randomUUID(), receivedAt: new Date().toISOString(), body: parsed(text) };
    transactions.unshift(transaction);
    transactions.length = Math.min(transactions.length, MOST_KEPT);
    return answer(response, 201, transaction, { location: `/transactions/${transaction.id}` });
  });
}

/**
 * @param {import('node:http').ServerResponse} response
 * @param {number} status
 * @param {unknown} body
 * @param {Record<string, string>} [headers]
 */
function answer(response, status, body, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(`${JSON.stringify(body)}\n`);
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @returns {Promise<string | undefined>} undefined when it is too large
 */
async function bodyOf(request) {
  let text = '';
  try {
    for await (const chunk of request.setEncoding('utf8')) {
      text += chunk;
      if (text.length > LARGEST_BODY_BYTES) return undefined;
    }
  } catch {
    // The client is gone; so is whoever would read the answer.
  }
  return text;
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

if (isMain(import.meta.url)) {
  const port = Number(process.env['DEMO_API_PORT'] ?? 9090);
  const host = process.env['DEMO_API_HOST'] ?? '127.0.0.1';
  const server = createDemoApi();
  // Longer than the gateway keeps its idle connections, so that it never sends on one that is closing.
  server.keepAliveTimeout = 65_000;
  server.listen(port, host, () => console.log(JSON.stringify({ app: 'demo-api', level: 30, msg: `listening on ${host}:${port}` })));
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT'])) {
    process.once(signal, () => {
      server.close(() => process.exit(0));
      server.closeIdleConnections();
      setTimeout(() => process.exit(0), 5000).unref();
    });
  }
}
