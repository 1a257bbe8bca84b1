import type { Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Server } from '@grpc/grpc-js';

/** Whether it answers the stream. */
type Taker = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => boolean;

/** What grpc-js does not show of itself. */
interface Insides {
  createHttp2Server(credentials: unknown): Http2Server;
  /** Counts the stream, so that its connection does not pass for idle. */
  onStreamOpened(stream: ServerHttp2Stream): void;
}

/**
 * The streams of a server of grpc-js before it has them. Its connections, their keep-alive, their idle time and their end stay its own.
 *
 * The server is grpc-js's secret; a version that hides it in another way keeps all streams, and is only slower: a test would say so.
 */
export function streamsOf<Injector>(server: Server, createInjector: () => Injector): { injector: Injector; take: (taker: Taker) => void } {
  const insides = server as unknown as Partial<Insides>;
  const create = insides.createHttp2Server?.bind(server);
  const opened = insides.onStreamOpened?.bind(server);
  let http2: Http2Server | undefined;
  if (create !== undefined) insides.createHttp2Server = (credentials) => (http2 = create(credentials));
  const injector = createInjector();
  const take = (taker: Taker): void => {
    const [left] = http2?.listeners('stream') ?? [];
    if (http2 === undefined || opened === undefined || left === undefined) return;
    http2.removeAllListeners('stream');
    http2.on('stream', (stream, headers, ...rest: unknown[]) => {
      if (taker(stream, headers)) opened(stream);
      else (left as (...given: unknown[]) => void).call(http2, stream, headers, ...rest);
    });
  };
  return { injector, take };
}
