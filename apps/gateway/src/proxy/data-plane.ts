import { isIP } from 'node:net';
import { buildConnector, Pool, type Dispatcher } from 'undici';
import type { Readable } from 'node:stream';
import type { Admit } from './admission.js';
import type { Exchange } from './exchange.js';
import { FailureLog, type ProxyLogger } from './failure-log.js';
import { createPathReader, type PathReader } from './path-policy.js';
import type { ProxyMetrics } from './proxy-metrics.js';
import type { ProxySettings } from './proxy-options.js';
import { createRequestIds } from './request-id.js';
import type { UpstreamFailure } from './upstream-failure.js';

/** What all exchanges of a proxy share: who decides, where requests go, what is counted. */
export class DataPlane {
  /** Set once the proxy is stopping: every answer from then on closes its connection. */
  draining = false;
  /** Pipelined requests that wait for their turn, on all connections. */
  waiting = 0;

  readonly admit: Admit;
  readonly trusts: (peer: string) => boolean;
  readonly readPath: PathReader;
  readonly metrics: ProxyMetrics;
  readonly logger: ProxyLogger;
  readonly maxInFlight: number;
  readonly preserveHost: boolean;
  readonly nextRequestId = createRequestIds();

  private readonly pool: Pool;
  private readonly serverName: string;
  private readonly failureLog: FailureLog;
  private unflushed: Exchange[] = [];

  constructor(settings: ProxySettings) {
    this.admit = settings.admit;
    this.trusts = settings.trusts;
    this.readPath = createPathReader({ policy: settings.pathPolicy, exceptions: settings.pathPolicyExceptions });
    this.metrics = settings.metrics;
    this.logger = settings.logger;
    this.maxInFlight = settings.maxInFlight;
    this.preserveHost = settings.host === 'original';
    this.failureLog = new FailureLog(settings.logger);
    this.serverName = unbracketed(settings.upstream.hostname);
    this.pool = new Pool(settings.upstream.origin, {
      connect: connectorFor(this.serverName, settings.connectTimeoutMs),
      connections: settings.connections,
      headersTimeout: settings.headersTimeoutMs,
      bodyTimeout: settings.bodyTimeoutMs,
      // One request at a time on a connection: a slow answer must not hold up another client's.
      pipelining: 1,
    });
  }

  /**
   * Sends a request upstream; `exchange` is called with what becomes of it.
   *
   * @param headers flat list of names and values
   */
  dispatch(
    path: string,
    method: Dispatcher.HttpMethod,
    headers: string[],
    body: Buffer | Readable | null,
    exchange: Exchange,
  ): void {
    // Without a server name undici takes it from the Host header, that is, from the client, and reconnects
    // whenever it changes.
    this.pool.dispatch({ path, method, headers, body, servername: this.serverName } as Dispatcher.DispatchOptions, exchange);
  }

  /** Answers whose body is late still get their headers out in this turn of the event loop. */
  flushSoon(exchange: Exchange): void {
    if (this.unflushed.push(exchange) === 1) setImmediate(this.flush);
  }

  upstreamFailed(kind: UpstreamFailure, requestId: string, error: Error): void {
    this.metrics.upstreamFailed(kind);
    this.failureLog.add(kind, requestId, error, performance.now());
  }

  /** Cuts the connections to the upstream. */
  async destroy(): Promise<void> {
    await this.pool.destroy();
  }

  private readonly flush = (): void => {
    const exchanges = this.unflushed;
    this.unflushed = [];
    for (const exchange of exchanges) exchange.flush();
  };
}

/** TLS names the upstream's own host (an IP address has no server name), whatever Host the request carries. */
function connectorFor(hostname: string, timeoutMs: number): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs, allowH2: false });
  const servername = isIP(hostname) === 0 ? hostname : undefined;
  return (options, callback) => {
    connect({ ...options, servername } as buildConnector.Options, callback);
  };
}

function unbracketed(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}
