import type { PathException, PathPolicy } from '#platform';
import type { Admit } from './admission.js';
import type { ProxyLogger } from './failure-log.js';
import type { ProxyMetrics } from './proxy-metrics.js';

export interface ProxyOptions {
  /** Origin that everything is forwarded to: http or https, host and port. */
  upstream: URL;
  logger: ProxyLogger;
  metrics: ProxyMetrics;
  /** Decides about each request that could be understood. */
  admit: Admit;
  /** Whether a peer (an IP address) is believed about the client and the merchant: its X-Forwarded-* and X-Merchant-Id. */
  trusts: (peer: string) => boolean;
  /**
   * The Host that the upstream sees. `original` (the default) is the client's, as signatures over the request and
   * absolute links of the upstream need it; `upstream` is the upstream's own, for one that is chosen by its Host.
   * X-Forwarded-Host carries the client's in both cases.
   */
  host?: 'original' | 'upstream';
  /** What happens to paths that servers read differently; `strict` unless given. */
  pathPolicy?: PathPolicy;
  /** Where the policy lets something through; none unless given. */
  pathPolicyExceptions?: readonly PathException[];
  /** Most connections to the upstream; further requests wait for a free one. */
  connections?: number;
  /** Most requests begun and not ended; further ones are refused with 503. */
  maxInFlight?: number;
  /** Most connections from clients; further ones are closed at once. */
  maxConnections?: number;
  /** Most bytes of request line and headers; more is refused with 431. */
  maxHeaderBytes?: number;
  /** Until the upstream has accepted a connection. */
  connectTimeoutMs?: number;
  /** From the end of a request until the upstream's headers. */
  headersTimeoutMs?: number;
  /** Between two pieces of the upstream's body. */
  bodyTimeoutMs?: number;
  /** Until a client has sent the whole headers of a request. There is no limit for the body: uploads may be long. */
  clientHeadersTimeoutMs?: number;
  /** Without a byte in either direction on a client's connection while a request is under way. */
  clientIdleTimeoutMs?: number;
  /** Between two requests on a client's connection. Above the 60 s that load balancers keep theirs. */
  keepAliveTimeoutMs?: number;
}

export type ProxySettings = Required<ProxyOptions>;

/** The options with defaults for those that were not given. */
export function proxySettings(options: ProxyOptions): ProxySettings {
  const { headersTimeoutMs = 30_000, bodyTimeoutMs = 60_000 } = options;
  return {
    host: 'original',
    pathPolicy: 'strict',
    pathPolicyExceptions: [],
    connections: 256,
    maxInFlight: 10_000,
    maxConnections: 20_000,
    maxHeaderBytes: 16 * 1024,
    connectTimeoutMs: 2_000,
    clientHeadersTimeoutMs: 15_000,
    // A client waits in silence for as long as the upstream may take.
    clientIdleTimeoutMs: Math.max(headersTimeoutMs, bodyTimeoutMs) + 30_000,
    keepAliveTimeoutMs: 65_000,
    ...options,
    headersTimeoutMs,
    bodyTimeoutMs,
  };
}
