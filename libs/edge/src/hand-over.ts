import type { Socket } from 'node:net';

/**
 * Lets node:http go on with a socket from which something has been read: it reads that first. The listeners of whoever has read it are to be gone by then.
 *
 * @param speakHttp the listener with which a server of node begins a connection
 * @param unread bytes in the order in which they came
 */
export function handOver(socket: Socket, unread: Buffer, speakHttp: (socket: Socket) => void): void {
  socket.setTimeout(0);
  socket.pause();
  socket.unshift(unread);
  speakHttp(socket);
  socket.resume();
}
