/** What the configuration says about the proxy, in the proxy's words. */
import type { TlsFiles } from '#edge';
import type { Config } from '#platform';
import type { OverloadSettings } from './proxy/index.js';

/** Where the certificate lies that clients are shown, and who vouches for them. */
export function tlsFiles({ tlsCert: cert, tlsKey: key, tlsClientCa: clientCa }: Config<'gateway'>): TlsFiles {
  return { cert, key, clientCa };
}

/** How clients speak to it where there is a certificate. */
export function tlsSettings({ tlsClientCert, http2, http2MaxStreams }: Config<'gateway'>) {
  return { clientCertificate: tlsClientCert, http2, maxStreams: http2MaxStreams };
}

/** Without a word about either, the number of connections is all that bounds the upstream's load. */
export function overloadSettings(config: Config<'gateway'>): OverloadSettings | undefined {
  const { upstreamLimit, upstreamLimitMin, criticalityRoutes, criticalityHeader, criticalityReservePercent } = config;
  const hasCriticality = criticalityRoutes.length > 0 || criticalityHeader !== '';
  if (upstreamLimit === 'fixed' && !hasCriticality) return undefined;
  return {
    adaptiveFrom: upstreamLimit === 'adaptive' ? upstreamLimitMin : undefined,
    reserve: hasCriticality ? criticalityReservePercent / 100 : 0,
  };
}

/** How the proxy reads, how much it holds, and how long it waits. */
export function proxyLimits(config: Config<'gateway'>) {
  return {
    fastLane: config.fastLane,
    connections: config.upstreamConnections,
    queueTimeoutMs: config.upstreamQueueTimeoutMs,
    headersTimeoutMs: config.upstreamResponseTimeoutMs,
    bodyTimeoutMs: config.upstreamIdleTimeoutMs,
    merchantShare: config.merchantSharePercent / 100,
    maxInFlight: config.maxInFlight,
    maxBufferedBytes: config.maxBufferedBytes,
    maxConnections: config.maxConnections,
    maxConnectionsPerPeer: config.maxConnectionsPerPeer,
    maxWebSockets: config.maxWebSockets,
    webSocketIdleTimeoutMs: config.webSocketIdleTimeoutMs,
    clientHeadersTimeoutMs: config.clientHeadersTimeoutMs,
    minBodyBytesPerSecond: config.minBodyBytesPerSecond,
    requestBodyGraceMs: config.requestBodyGraceMs,
    responseBodyGraceMs: config.responseBodyGraceMs,
    exchangeTimeoutMs: config.exchangeTimeoutMs,
  };
}
