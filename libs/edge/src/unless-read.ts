import type { Socket } from 'node:net';

/**
 * Calls back in a moment, unless something was read from the socket by then. For time-outs: timers fire before the sockets are read, so a
 * process that did not run for a while (frozen, or its machine was) would blame the other side for bytes that lie unread in the socket.
 */
export function unlessRead(socket: Socket, isSilent: () => void): void {
  const { bytesRead } = socket;
  setImmediate(() => {
    if (!socket.destroyed && socket.bytesRead === bytesRead) isSilent();
  });
}
