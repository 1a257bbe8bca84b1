import { Agent, createServer, type RequestOptions, request as sendRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { REFUSED_IN_REHEARSAL, REHEARSED_PATH } from '#enforcement';
import { withDeadline } from '#waiting';
import { ProxyMetrics, type ProxyOptions, ProxyServer } from './proxy/index.js';

const HOST = '127.0.0.1';
const ROUNDS = 10;
/** Side by side, each on a connection of its own. */
const AT_ONCE = 4;
const WITHIN_MS = 1_000;
const SILENT = { warn: () => {}, error: () => {} };

export interface RehearsalOptions {
  /** Those of the gateway's own proxy; its admission decides by the rules of the rehearsal. */
  readonly proxy: ProxyOptions;
  readonly signal: AbortSignal;
  /** Milliseconds of running time. */
  readonly withinMs?: number;
}

/**
 * Sends requests the whole way from a socket to an upstream and back, so that the first one of a client meets code that is compiled: otherwise it
 * takes 30 ms longer. Proxy and upstream are made for it, on loopback, and end with it; nobody else's upstream hears of it. Never rejects, and is bounded in
 * time.
 *
 * @returns how many requests were answered
 */
export async function rehearseRequests({ proxy, signal, withinMs = WITHIN_MS }: RehearsalOptions): Promise<number> {
  const upstream = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.setHeader('Content-Type', 'application/json').end('{"status":"rehearsed"}'));
  });
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const progress = { answered: 0 };
  let server: ProxyServer | undefined;
  try {
    const origin = new URL(`http://${HOST}:${await listen(upstream)}`);
    server = new ProxyServer(rehearsalProxy(proxy, origin));
    const port = await server.listen(0, HOST, { exclusive: true });
    await withDeadline(play(agent, port, signal, progress), withinMs);
  } catch {
    // A client's first request is a little slower then.
  }
  agent.destroy();
  upstream.close();
  upstream.closeAllConnections();
  // It looks for quiet connections now and then; nobody has to wait for that.
  server?.close(0).catch(() => {});
  return progress.answered;
}

/** Access log, traces and metrics are left out: no client has sent these requests. */
function rehearsalProxy(proxy: ProxyOptions, upstream: URL): ProxyOptions {
  return {
    ...proxy,
    upstream,
    routes: undefined,
    tls: undefined,
    tracer: undefined,
    accessLog: undefined,
    logger: SILENT,
    metrics: new ProxyMetrics(),
    trusts: () => true,
  };
}

async function play(agent: Agent, port: number, signal: AbortSignal, progress: { answered: number }): Promise<void> {
  for (let round = 0; round < ROUNDS && !signal.aborted; round++) {
    await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, i) => {
        const folder = i === 0 ? REFUSED_IN_REHEARSAL : REHEARSED_PATH;
        await send({ agent, host: HOST, port, method: 'POST', path: `${folder}/${round}-${i}`, signal });
        progress.answered++;
      }),
    );
  }
}

function send(options: RequestOptions): Promise<void> {
  const headers = { 'Content-Type': 'application/json', 'X-Merchant-Id': 'rehearsal' };
  return new Promise((resolve, reject) => {
    const sent = sendRequest({ ...options, headers }, (response) => {
      response
        .on('end', () => resolve())
        .on('error', reject)
        .resume();
    });
    sent.on('error', reject).end('{"amount":1}');
  });
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: 0, host: HOST, exclusive: true }, () => resolve((server.address() as AddressInfo).port));
  });
}
