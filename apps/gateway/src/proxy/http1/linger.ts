import type { Socket } from 'node:net';
import type { ClientRequest } from '../messages/client-message.js';

/** How much of an unwanted body is read before the connection is cut. */
const UNWANTED_BYTES = 1024 * 1024;
const UNWANTED_MS = 2_000;
const LOOK_EVERY_MS = 50;

/**
 * Lets a client that is still sending its body read the answer: once the answer is written, only the sending side is
 * closed, and what still arrives is read and thrown away, for a bounded time and amount. Closing at once would
 * make the kernel answer the unread bytes with a reset, which can destroy the answer before the client has read it.
 *
 * node:http calls `destroySoon` on the socket after a response with `Connection: close`; that is where this steps in.
 */
export function lingerOnClose(socket: Socket, request: ClientRequest): void {
  socket.destroySoon = () => {
    delete (socket as { destroySoon?: unknown }).destroySoon;
    if (request.complete) {
      socket.destroySoon();
      return;
    }
    socket.end();
    cutIfTooMuch(socket, request);
  };
}

/**
 * Cuts the connection if the rest of a body, which is being thrown away, does not end within bounds.
 */
export function cutIfTooMuch(socket: Socket, request: ClientRequest): void {
  const limit = socket.bytesRead + UNWANTED_BYTES;
  let looks = UNWANTED_MS / LOOK_EVERY_MS;
  const timer = setInterval(() => {
    const enough = request.complete || socket.destroyed || socket.bytesRead > limit || --looks <= 0;
    if (!enough) return;
    clearInterval(timer);
    if (socket.writableEnded || !request.complete) socket.destroy();
  }, LOOK_EVERY_MS);
  timer.unref();
}
