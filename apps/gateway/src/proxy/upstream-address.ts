import { isIP } from 'node:net';
import type { Readable } from 'node:stream';
import { buildConnector, Pool, type Dispatcher } from 'undici';
import { AddressHealth, type CheckThresholds, type PassiveHealth } from './address-health.js';

export interface UpstreamAddressOptions {
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

  private readonly pool: Pool;
  private readonly serverName: string;

  /** @param onConnected told how long it took to open a connection */
  constructor(
    readonly url: URL,
    options: UpstreamAddressOptions,
    onConnected: (tookMs: number) => void,
  ) {
    this.health = new AddressHealth(options.passiveHealth, options.checks);
    this.serverName = unbracketed(url.hostname);
    this.pool = new Pool(url.origin, {
      connect: connectorFor(this.serverName, options.connectTimeoutMs, onConnected),
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
   */
  dispatch(
    path: string,
    method: Dispatcher.HttpMethod,
    headers: string[],
    body: Buffer | Readable | null,
    handler: Dispatcher.DispatchHandler,
    upgrade?: string,
  ): void {
    // Without a server name undici takes it from the Host header, that is, from the client, and reconnects
    // whenever it changes.
    this.pool.dispatch({ path, method, headers, body, upgrade, servername: this.serverName } as Dispatcher.DispatchOptions, handler);
  }

  /** Cuts its connections. */
  destroy(): Promise<void> {
    return this.pool.destroy();
  }
}

/** TLS names the upstream's own host (an IP address has no server name), not the Host that the request carries. */
function connectorFor(hostname: string, timeoutMs: number, onConnected: (tookMs: number) => void): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs, allowH2: false });
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
