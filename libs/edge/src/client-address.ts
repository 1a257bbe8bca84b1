import type { KnownAddresses } from './known-addresses.js';

/** No sensible architecture has more proxies in a row, and each entry costs a look-up. */
const MAX_HOPS = 32;

/**
 * The client's address behind trusted proxies: the right-most entry of X-Forwarded-For that is not a trusted proxy.
 * Each proxy vouches only for the entry that it appended, so reading stops at the first untrusted one; what stands left
 * of it the client may have invented. An entry that is no address ends the walk too: the proxy that wrote it counts.
 *
 * @param peer a trusted one, in canonical text
 * @param forwardedFor all values of X-Forwarded-For, joined by commas in the order received
 */
export function clientAddress(peer: string, forwardedFor: string, known: KnownAddresses): string {
  let client = peer;
  let trusted = true;
  let end = forwardedFor.length;
  for (let hop = 0; hop < MAX_HOPS && trusted && end > 0; hop++) {
    const comma = forwardedFor.lastIndexOf(',', end - 1);
    const entry = known.lookUp(withoutPort(forwardedFor.slice(comma + 1, end).trim()));
    if (entry === null) break;
    client = entry.ip;
    trusted = entry.trusted;
    end = comma;
  }
  return client;
}

/** Some proxies append the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  if (entry.startsWith('[')) return entry.slice(1, Math.max(1, entry.indexOf(']')));
  const colon = entry.indexOf(':');
  return colon > 0 && colon === entry.lastIndexOf(':') ? entry.slice(0, colon) : entry;
}
