import { type buildConnector, errors } from 'undici';
import { CoarseClock } from '../coarse-clock.js';
import { Http2UpstreamConnection, type ConnectionOptions, type ConnectionOwner, type WaitingRequest } from './http2-upstream-connection.js';
import type { UpstreamHandler, UpstreamRequest } from './http2-upstream-stream.js';

/**
 * The connections to one address that speaks HTTP/2 without TLS. A connection carries many requests; there are as many as requests need, and how many requests there are is
 * bounded by the slots of the upstream.
 *
 * Of node's own client and not of undici, whose HTTP/2 fails all requests of a connection when the upstream wants to end it, and knows neither trailers nor early hints.
 */
export class Http2Upstream implements ConnectionOwner {
  private readonly connections = new Set<Http2UpstreamConnection>();
  private readonly clock = new CoarseClock();
  private isWatched = false;
  private isDestroyed = false;

  constructor(
    private readonly url: URL,
    private readonly connect: buildConnector.connector,
    private readonly options: ConnectionOptions,
  ) {}

  dispatch(request: UpstreamRequest, handler: UpstreamHandler): void {
    this.place({ request, handler });
  }

  place({ request, handler }: WaitingRequest): void {
    if (this.isDestroyed) return handler.onError(new errors.ClientDestroyedError());
    for (const connection of this.connections) if (connection.hasRoom) return connection.take(request, handler);
    const connection = new Http2UpstreamConnection(this.url, this.connect, this.options, this);
    if (!this.isWatched) this.clock.start((elapsedMs) => this.tick(elapsedMs));
    this.isWatched = true;
    this.connections.add(connection);
    connection.take(request, handler);
  }

  closed(connection: Http2UpstreamConnection): void {
    this.connections.delete(connection);
  }

  /** Cuts its connections. */
  async destroy(): Promise<void> {
    this.isDestroyed = true;
    this.clock.stop();
    for (const connection of [...this.connections]) connection.end(new errors.ClientDestroyedError());
    await Promise.resolve();
  }

  private tick(elapsedMs: number): void {
    for (const connection of [...this.connections]) connection.tick(elapsedMs);
  }
}
