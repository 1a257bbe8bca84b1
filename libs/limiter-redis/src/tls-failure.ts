import { withDeadline } from '#waiting';
import { connect, type ConnectionOptions } from 'node:tls';

/** Longer than a handshake takes. Milliseconds. */
const WITHIN_MS = 1000;

/**
 * Why no encrypted connection comes about. The client library tells of Sentinels and of the nodes of a cluster only that a connection was closed, whatever
 * the reason; so a connection is made that does nothing but its handshake.
 *
 * @returns undefined: one comes about, or there is none of any kind. Never rejects
 */
export async function tlsFailure(options: ConnectionOptions): Promise<Error | undefined> {
  const socket = connect(options);
  try {
    await withDeadline(
      new Promise<void>((resolve, reject) => {
        socket.once('error', reject).once('secureConnect', resolve);
      }),
      WITHIN_MS,
    );
    return undefined;
  } catch (error) {
    return error as Error;
  } finally {
    // What comes after a deadline concerns nobody.
    socket.on('error', () => {}).destroy();
  }
}
