import type { Server } from 'node:net';

/** Addresses that stand for all of this machine's. */
const WILDCARDS = ['0.0.0.0', '::'];

/** Where a server is reached on its own machine: programs cannot send to an address that stands for all. */
export function listeningUrl(server: Pick<Server, 'address'>): string {
  const bound = server.address();
  if (bound === null || typeof bound === 'string') return '/';
  const { address, port } = bound;
  if (WILDCARDS.includes(address)) return `http://localhost:${port}`;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}
