/** Which ports are free, and who has those that are not. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { commandOf } from './processes.mjs';

/** Ports that the system gives to nobody who does not ask for them: below those of its own choice, on Linux as on macOS. */
const [LOWEST, HIGHEST] = [10_240, 32_767];

/** Processes that look for ports at the same time begin at different ones. */
let next = LOWEST + ((process.pid * 97) % (HIGHEST - LOWEST));

/**
 * A port that was free a moment ago, and that no connection and no server without a port of its own gets meanwhile.
 * @param {string} [host]
 * @returns {Promise<number>}
 */
export async function freePort(host = '127.0.0.1') {
  for (let tried = LOWEST; tried <= HIGHEST; tried++) {
    const port = next;
    next = next === HIGHEST ? LOWEST : next + 1;
    if ((await faultOf({ port, host })) === undefined) return port;
  }
  throw new Error(`no port from ${LOWEST} to ${HIGHEST} is free`);
}

/**
 * Why nobody can listen on a port, on any address: EADDRINUSE, EACCES; undefined when it is free.
 * @param {number} port
 * @returns {Promise<string | undefined>}
 */
export const portFault = (port) => faultOf({ port, exclusive: true });

/**
 * @param {import('node:net').ListenOptions} options
 * @returns {Promise<string | undefined>}
 */
function faultOf(options) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(/** @type {NodeJS.ErrnoException} */ (error).code));
    server.listen(options, () => server.close(() => resolve(undefined)));
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
