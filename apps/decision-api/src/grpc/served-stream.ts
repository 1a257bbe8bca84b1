import { Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import type { Logger } from '#platform';
import { detailsOf, type GrpcError, grpcErrorOf } from './grpc-error.js';

export type DuplexStream = ServerDuplexStream<object, object>;

/** Messages of one stream at once: whoever does not read answers has to wait here. */
const MOST_OF_A_STREAM = 64;

/**
 * Answers the messages of a stream, each on its own and in any order, until the caller ends it or leaves, or an answer fails. Reads on when answers have been written: a
 * stream is never further ahead than MOST_OF_A_STREAM. Never rejects.
 *
 * @param begin what answers a message, and rejects with a GrpcError; it may throw what `grpcErrorOf` knows
 */
export async function serveStream(
  stream: DuplexStream,
  begin: () => (request: object) => Promise<object>,
  logger: Pick<Logger, 'error'>,
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  // One after the other: each waits until the stream takes more.
  let writing = Promise.resolve();
  let failure: GrpcError | undefined;
  try {
    const answer = begin();
    // The end of what is read is not the end of what is written.
    for await (const request of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<object>) {
      const work: Promise<void> = answer(request)
        .then((message) => (writing = writing.then(() => written(stream, message))))
        .catch((error: GrpcError) => void (failure ??= error))
        .finally(() => underWay.delete(work));
      underWay.add(work);
      if (underWay.size >= MOST_OF_A_STREAM) await Promise.race(underWay);
      if (failure !== undefined) break;
    }
    await Promise.all(underWay);
  } catch (error) {
    // A caller that has left is told nothing.
    if (!stream.cancelled) failure = grpcErrorOf(error, logger);
  }
  if (failure !== undefined) fail(stream, failure);
  else if (!stream.cancelled) stream.end();
}

/** Resolves when the stream takes more. A caller that reads no answers is not sent more than this. */
async function written(stream: DuplexStream, message: object): Promise<void> {
  if (stream.cancelled || stream.write(message)) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      stream.off('drain', done);
      stream.off('cancelled', done);
      resolve();
    };
    stream.on('drain', done);
    stream.on('cancelled', done);
  });
}

/** Ends a stream with a status. */
export function fail(stream: DuplexStream, error: GrpcError): void {
  stream.emit('error', statusOf(error));
}

/** As grpc-js takes it. */
export function statusOf(error: GrpcError): Error & { code: number; details: string; metadata: Metadata } {
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', detailsOf(error));
  return Object.assign(error, { details: error.message, metadata });
}
