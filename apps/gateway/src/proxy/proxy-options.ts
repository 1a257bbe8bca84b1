import type { PathException, PathPolicy } from '#platform';
import type { AccessLog } from './access-log.js';
import type { Admit } from './admission.js';
import type { Present } from './answer.js';
import type { CriticalityOf } from './sharing/criticality.js';
import type { ProxyLogger } from './upstream/failure-log.js';
import { NO_SECRETS, type Secrets } from './messages/hop-by-hop.js';
import type { ProxyMetrics } from './proxy-metrics.js';
import type { RequestTracer } from './request-trace.js';
import type { RouteOptions, Routing } from './routes.js';
import { AFTER_SILENCE_MS, type UpstreamOptions } from './upstream/upstream.js';
import { serverAt } from './upstream/upstream-server.js';
import type { TlsOptions } from './tls-server.js';
import type { OverloadSettings } from './upstream/upstream-places.js';

export interface ProxyOptions {
  /** Origin that everything is forwarded to which no route takes: http, https or h2c, host and port. Without it, that is answered with 404. */
  upstream?: URL | undefined;
  /** Routes to several upstreams; none unless given. Their names are not `default`, which is that of `upstream`. */
  routes?: Routing | undefined;
  logger: ProxyLogger;
  metrics: ProxyMetrics;
  /** Told of every request that has ended; nobody is unless given. */
  accessLog?: AccessLog | undefined;
  /** Traces requests; nobody does unless given. */
  tracer?: RequestTracer | undefined;
  /** Speaks TLS with clients, and plain text unless given. */
  tls?: TlsOptions | undefined;
  /** How much it matters that a request is served; as much as any other unless given. */
  criticalityOf?: CriticalityOf | undefined;
  /** How overload of the upstream is controlled; by the number of connections alone unless given. */
  overload?: OverloadSettings | undefined;
  /** How the gateway's own answers look; as problem details unless given. */
  present?: Present | undefined;
  /** Reads plain requests, and sends them on, without the streams of node:http and undici, unless it is false. */
  fastLane?: boolean;
  /** Decides about each request that could be understood. */
  admit: Admit;
  /** Whether a peer (an IP address) is believed about the client and the merchant: its X-Forwarded-* and X-Merchant-Id. */
  trusts: (peer: string) => boolean;
  /** What is between clients and the gateway, and not forwarded: nothing but API keys in Authorization unless given. */
  secrets?: Secrets;
  /**
   * The Host that the upstream sees. `original` (the default) is the client's, as signatures over the request and
   * absolute links of the upstream need it; `upstream` is the upstream's own, for one that is chosen by its Host.
   * X-Forwarded-Host carries the client's in both cases.
   */
  host?: 'original' | 'upstream';
  /** Whether routes tell upper from lower case in paths. */
  pathCaseSensitive?: boolean;
  /** What happens to paths that servers read differently; `strict` unless given. */
  pathPolicy?: PathPolicy;
  /** Where the policy lets something through; none unless given. */
  pathPolicyExceptions?: readonly PathException[];
  /** Most connections to the upstream, each for one request at a time; further requests wait for a free one. */
  connections?: number;
  /** How long a request waits for a connection to the upstream before it is refused with 503. */
  queueTimeoutMs?: number;
  /**
   * How much one merchant (or peer) may have of all that is shared (connections to the upstream, requests in flight, bytes in
   * memory, connections from peers), as a multiple of what is free: at 0.5 one that is alone gets a third.
   */
  merchantShare?: number;
  /** Most bytes of request bodies that wait in memory before they are forwarded. */
  maxBufferedBytes?: number;
  /** Most requests begun and not ended; further ones are refused with 503. */
  maxInFlight?: number;
  /** Most connections from clients; further ones are closed at once. */
  maxConnections?: number;
  /** Most connections from a peer that is not trusted (of IPv6: from a /64); further ones are closed at once. */
  maxConnectionsPerPeer?: number;
  /** Most WebSockets that are open, of all merchants; 0: none is opened. */
  maxWebSockets?: number;
  /** How long nothing may come on a WebSocket, from either side. */
  webSocketIdleTimeoutMs?: number;
  /** Most bytes of request line and headers; more is refused with 431. */
  maxHeaderBytes?: number;
  /** Until the upstream has accepted a connection. */
  connectTimeoutMs?: number;
  /** From the end of a request until the upstream's headers. */
  headersTimeoutMs?: number;
  /** Between two pieces of the upstream's body. */
  bodyTimeoutMs?: number;
  /** Until a client has sent the whole headers of a request. Its body may take long, but has to move: see below. */
  clientHeadersTimeoutMs?: number;
  /** Least rate of bodies that a client sends or reads; 0: it only has to send or read something now and then. */
  minBodyBytesPerSecond?: number;
  /** How long a client may be behind that rate, or silent, with the body of its request. */
  requestBodyGraceMs?: number;
  /** Likewise with an answer that it reads. Longer, as the kernel hides small steps of the reader. */
  responseBodyGraceMs?: number;
  /** A whole exchange, from the headers of the request to the end of the answer, even if its bodies move. */
  exchangeTimeoutMs?: number;
  /** Without a byte in either direction on a client's connection while a request is under way. */
  clientIdleTimeoutMs?: number;
  /** Between two requests on a client's connection. Above the 60 s that load balancers keep theirs. */
  keepAliveTimeoutMs?: number;
  /** A client of HTTP/2 from which nothing has come for so long is asked by PING whether it is there. */
  http2PingAfterMs?: number;
  /** So long it has to answer, before its connection is closed. */
  http2PingTimeoutMs?: number;
}

type Optional = 'accessLog' | 'tracer' | 'tls' | 'present' | 'criticalityOf' | 'overload' | 'upstream';

export type ProxySettings = Required<Omit<ProxyOptions, Optional | 'routes'>> &
  Pick<ProxyOptions, Optional> & { readonly routing: Routing };

/** The options with defaults for those that were not given. */
export function proxySettings(options: ProxyOptions): ProxySettings {
  const { headersTimeoutMs = 30_000, bodyTimeoutMs = 60_000, routes = NO_ROUTES, ...others } = options;
  const settings = {
    host: 'original' as const,
    fastLane: true,
    secrets: NO_SECRETS,
    pathCaseSensitive: true,
    pathPolicy: 'strict' as const,
    pathPolicyExceptions: [],
    connections: 256,
    queueTimeoutMs: 1_000,
    merchantShare: 0.5,
    maxBufferedBytes: 64 * 1024 * 1024,
    maxInFlight: 10_000,
    maxConnections: 20_000,
    maxConnectionsPerPeer: 256,
    maxWebSockets: 1_000,
    webSocketIdleTimeoutMs: 120_000,
    maxHeaderBytes: 16 * 1024,
    connectTimeoutMs: 2_000,
    clientHeadersTimeoutMs: 10_000,
    minBodyBytesPerSecond: 1024,
    requestBodyGraceMs: 10_000,
    responseBodyGraceMs: 30_000,
    exchangeTimeoutMs: 3_600_000,
    // A client waits in silence for as long as the upstream may take.
    clientIdleTimeoutMs: Math.max(headersTimeoutMs, bodyTimeoutMs) + AFTER_SILENCE_MS,
    keepAliveTimeoutMs: 65_000,
    http2PingAfterMs: 10_000,
    http2PingTimeoutMs: 20_000,
    ...others,
    headersTimeoutMs,
    bodyTimeoutMs,
  };
  return { ...settings, routing: withDefaultRoute(routes, settings) };
}

const NO_ROUTES: Routing = { upstreams: [], routes: [] };

/** The name of the route, and of the upstream, of what no route of the file takes. */
export const DEFAULT_ROUTE = 'default';

/** These routes, and after them the one to the upstream for everything else, if there is one. */
export function withDefaultRoute({ upstreams, routes }: Routing, settings: Omit<ProxySettings, 'routing'>): Routing {
  const { upstream: url, exchangeTimeoutMs } = settings;
  if (url === undefined) return { upstreams, routes };
  const { url: address, http2 } = serverAt(url.href);
  const upstream: UpstreamOptions = {
    name: DEFAULT_ROUTE,
    addresses: [address],
    http2,
    balance: 'least_requests',
    host: settings.host,
    connections: settings.connections,
    queueTimeoutMs: settings.queueTimeoutMs,
    connectTimeoutMs: settings.connectTimeoutMs,
    headersTimeoutMs: settings.headersTimeoutMs,
    bodyIdleTimeoutMs: settings.bodyTimeoutMs,
    passiveHealth: null,
    activeHealth: null,
  };
  const route: RouteOptions = {
    name: DEFAULT_ROUTE,
    upstream: DEFAULT_ROUTE,
    hosts: [],
    paths: [],
    lane: false,
    pathExceptions: [],
    exchangeTimeoutMs,
    requestHeaders: NOTHING_REWRITTEN,
    responseHeaders: NOTHING_REWRITTEN,
  };
  return { upstreams: [...upstreams, upstream], routes: [...routes, route] };
}

const NOTHING_REWRITTEN = { set: {}, remove: [] };
