/** A small transaction API for the gateway to stand in front of: it keeps the last transactions in memory. */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isMain } from '#scripts/paths.mjs';
import { print } from '../shared/output.js';

const MOST_KEPT = 100;
const MOST_SHOWN = 10;
const LARGEST_BODY_BYTES = 64 * 1024;

interface Transaction {
  readonly id: string;
  readonly receivedAt: string;
  readonly body: unknown;
}

/** Not yet listening. */
export function createDemoApi(): Server {
  /** The newest first. */
  const transactions: Transaction[] = [];
  return createServer((request, response) => void respond(transactions, request, response));
}

async function respond(transactions: Transaction[], request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://demo');
  if (pathname === '/health') return answer(response, 200, { status: 'ok' });
  if (pathname !== '/transactions') return answer(response, 404, { error: `there is no ${pathname}` });
  if (request.method === 'GET' || request.method === 'HEAD') return answer(response, 200, { items: transactions.slice(0, MOST_SHOWN) });
  if (request.method !== 'POST')
    return answer(response, 405, { error: `${request.method} is not for /transactions` }, { allow: 'GET, HEAD, POST' });

  const text = await bodyOf(request);
  if (text === undefined)
    return answer(response, 413, { error: `a transaction has at most ${LARGEST_BODY_BYTES} bytes` }, { connection: 'close' });
  const transaction = { id: randomUUID(), receivedAt: new Date().toISOString(), body: parsed(text) };
  transactions.unshift(transaction);
  transactions.length = Math.min(transactions.length, MOST_KEPT);
  answer(response, 201, transaction, { location: `/transactions/${transaction.id}` });
}

function answer(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(`${JSON.stringify(body)}\n`);
}

/** Undefined when it is too large. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  let text = '';
  try {
    for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) {
      text += chunk;
      if (text.length > LARGEST_BODY_BYTES) return undefined;
    }
  } catch {
    // The client is gone; so is whoever would read the answer.
  }
  return text;
}

function parsed(text: string): unknown {
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
  server.listen(port, host, () => print(JSON.stringify({ app: 'demo-api', level: 30, msg: `listening on ${host}:${port}` })));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      server.close(() => process.exit(0));
      server.closeIdleConnections();
      setTimeout(() => process.exit(0), 5000).unref();
    });
  }
}
