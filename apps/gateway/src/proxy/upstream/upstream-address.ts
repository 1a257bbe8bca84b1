import { isIP } from 'node:net';
import type { Readable } from 'node:stream';
import { buildConnector, Pool, type Dispatcher } from 'undici';
import { AddressHealth, type CheckThresholds, type PassiveHealth } from './address-health.js';
import { Http1Upstream } from './http1-upstream.js';
import { Http2Upstream } from './http2-upstream.js';
import type { Trailed, UpstreamHandler } from './http2-upstream-stream.js';
import { lastKnownLookup } from './last-known-address.js';

/** One for all upstreams: what DNS said to one is good for another, and for checks. */
export const upstreamLookup = lastKnownLookup();

export interface UpstreamAddressOptions {
  /** Speaks HTTP/2 with it, without TLS and without asking; HTTP/1.1 unless given. */
  readonly http2?: boolean | undefined;
  /** Speaks HTTP/1.1 without undici where there is no TLS, and the body of a request is there; not unless given. */
  readonly fastLane?: boolean | undefined;
  /** Most connections, each for one request at a time. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly headersTimeoutMs: number;
  readonly bodyIdleTimeoutMs: number;
  readonly passiveHealth: PassiveHealth | null;
  readonly checks?: CheckThresholds | undefined;
}

/** One address of an upstream, with its connections and what is known of its health. */
export class UpstreamAddress {
  /** Requests that were sent to it and have not ended. */
  inFlight = 0;
  readonly health: AddressHealth;

  private readonly connections: Pool | Http2Upstream;
  /** For requests that need no stream. */
  private readonly fast: Http1Upstream | undefined;
  private readonly serverName: string;

  /** @param onConnected told how long it took to open a connection */
  constructor(
    readonly url: URL,
    options: UpstreamAddressOptions,
    onConnected: (tookMs: number) => void,
  ) {
    this.health = new AddressHealth(options.passiveHealth, options.checks);
    this.serverName = unbracketed(url.hostname);
    const connect = connectorFor(this.serverName, options.connectTimeoutMs, onConnected);
    this.connections = options.http2 === true ? new Http2Upstream(url, connect, options) : this.poolOf(connect, options);
    if (options.fastLane === true && options.http2 !== true && url.protocol === 'http:')
      this.fast = new Http1Upstream(url, connect, options);
  }

  private poolOf(connect: buildConnector.connector, options: UpstreamAddressOptions): Pool {
    return new Pool(this.url.origin, {
      connect,
      // As many as there are slots: undici's own queue, which knows neither deadlines nor merchants, stays empty.
      connections: options.connections,
      headersTimeout: options.headersTimeoutMs,
      bodyTimeout: options.bodyIdleTimeoutMs,
      // One request at a time on a connection: a slow answer must not hold up another client's.
      pipelining: 1,
    });
  }

  /**
   * Sends a request; `handler` is called with what becomes of it.
   *
   * @param headers flat list of names and values
   * @param upgrade the protocol that is asked for instead of HTTP
   * @param trailed what comes behind the body; undici sends nothing there
   */
  dispatch(
    path: string,
    method: Dispatcher.HttpMethod,
    headers: string[],
    body: Buffer | Readable | null,
    handler: Dispatcher.DispatchHandler & UpstreamHandler,
    upgrade?: string,
    trailed: Trailed | null = null,
  ): void {
    const { connections, fast } = this;
    const isShort = body === null || body instanceof Buffer;
    if (fast !== undefined && isShort && upgrade === undefined) return fast.dispatch({ path, method, headers, body }, handler);
    if (connections instanceof Http2Upstream) return connections.dispatch({ path, method, headers, body, trailed }, handler);
    // Without a server name undici takes it from the Host header, that is, from the client, and reconnects
    // whenever it changes.
    connections.dispatch({ path, method, headers, body, upgrade, servername: this.serverName } as Dispatcher.DispatchOptions, handler);
  }

  /** Cuts its connections. */
  async destroy(): Promise<void> {
    await Promise.all([this.connections.destroy(), this.fast?.destroy()]);
  }
}

/** TLS names the upstream's own host (an IP address has no server name), not the Host that the request carries. */
function connectorFor(hostname: string, timeoutMs: number, onConnected: (tookMs: number) => void): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs, allowH2: false, lookup: upstreamLookup });
  const servername = isIP(hostname) === 0 ? hostname : undefined;
  return (options, callback) => {
    const startedMs = performance.now();
    connect({ ...options, servername } as buildConnector.Options, (...result) => {
      if (result[0] === null) onConnected(performance.now() - startedMs);
      callback(...result);
    });
  };
}

function unbracketed(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}
