import { SaidOnce } from '#enforcement';
import type { ProxyLogger } from '../upstream/failure-log.js';

/** Why the proxy refused or cut something to protect others; also the values of a metric's label. */
export const SHED_REASONS = [
  /** A merchant has its share of the requests in flight. */
  'merchant_in_flight',
  /** No slot of the upstream came free in time. */
  'upstream_queue',
  /** The upstream has too much to do, and others are more critical. */
  'overload',
  /** Too many bytes of bodies wait in memory. */
  'buffered_bytes',
  /** A client sent its body too slowly. */
  'slow_upload',
  /** A client did not read its answer. */
  'slow_download',
  /** A request took longer than any may. */
  'exchange_timeout',
  /** A peer has its share of the connections. */
  'peer_connections',
  /** A merchant has its share of the WebSockets. */
  'websockets',
  /** A WebSocket was silent for too long. */
  'websocket_idle',
  /** A connection of HTTP/2 had too many resets, PING or SETTINGS. */
  'http2_flood',
] as const;

export type ShedReason = (typeof SHED_REASONS)[number];

/**
 * Logs that requests were refused or cut: each reason the first time, with the merchant or peer concerned, and again only after a minute without. A line
 * for each request would help those who cause them.
 */
export class ShedLog {
  private readonly said = new SaidOnce<ShedReason>();

  constructor(private readonly logger: ProxyLogger) {}

  /** @param who the merchant, or the peer of a request that belongs to none */
  add(reason: ShedReason, who: string, nowMs: number): void {
    if (!this.said.isNews(reason, nowMs)) return;
    this.logger.warn({ reason, who }, 'refuses or cuts requests to protect others; logged again after a minute without');
  }
}
