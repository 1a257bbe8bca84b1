/** Which ports are free, and who has those that are not. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { commandOf } from './processes.mjs';

/**
 * A port that was free a moment ago.
 * @param {string} [host]
 * @returns {Promise<number>}
 */
export function freePort(host = '127.0.0.1') {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, host, () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      server.close(() => resolve(port));
    });
  });
}

/**
 * Why nobody can listen on a port, on any address: EADDRINUSE, EACCES; undefined when it is free.
 * @param {number} port
 * @returns {Promise<string | undefined>}
 */
export function portFault(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(/** @type {NodeJS.ErrnoException} */ (error).code));
    server.listen({ port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/**
 * The process that listens on a port, where the system tells.
 * @param {number} port
 * @returns {{ pid: number, command: string } | undefined}
 */
export function listenerOn(port) {
  try {
    const inodes = listeningInodes(port);
    if (inodes.size === 0) return undefined;
    for (const entry of readdirSync('/proc')) {
      if (/^\d+$/.test(entry) && holdsSocket(entry, inodes)) return { pid: Number(entry), command: commandOf(Number(entry)) };
    }
  } catch {
    // Not Linux, or not ours to see: the message goes without a name.
  }
  return undefined;
}

/** @param {number} port */
function listeningInodes(port) {
  const inodes = new Set();
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of readFileSync(table, 'utf8').split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/);
      if (fields[3] === '0A' && fields[1]?.endsWith(`:${hex}`)) inodes.add(`socket:[${fields[9]}]`);
    }
  }
  return inodes;
}

/**
 * @param {string} pid
 * @param {Set<string>} sockets
 */
function holdsSocket(pid, sockets) {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      try {
        return sockets.has(readlinkSync(`/proc/${pid}/fd/${fd}`));
      } catch {
        return false;
      }
    });
  } catch {
    return false;
  }
}
