import { isPublicAddress } from '#addresses';
import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';

const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 10_000;
/** Of a receiver: as many as there are attempts at once. */
const CONNECTIONS = 8;

/** The receiver is not in the public internet. The message does not say where it is. */
export class AddressNotAllowedError extends Error {
  constructor() {
    super('the receiver has no public address');
    this.name = 'AddressNotAllowedError';
  }
}

/** Resolves a name to all of its addresses. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

export interface GuardOptions {
  readonly allowPrivate: boolean;
  readonly resolve?: Resolve;
}

/**
 * Connects to public addresses only. What is checked is the very address to which the socket connects, and not the name: a name may mean another address a
 * moment later. It neither follows redirects nor uses a proxy.
 */
export function guardedAgent({ allowPrivate, resolve = resolveOnce() }: GuardOptions): Agent {
  const isAllowed = (address: string) => allowPrivate || isPublicAddress(address);
  const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(resolve, isAllowed) });
  return new Agent({
    connect: (options, callback) => {
      const { protocol, hostname } = options;
      // An address in place of a name is never looked up. What is stored may be older than the configuration.
      const isRefused = (protocol !== 'https:' && !allowPrivate) || (isIP(hostname) !== 0 && !isAllowed(hostname));
      if (isRefused) callback(new AddressNotAllowedError(), null);
      else connect(options, callback);
    },
    connections: CONNECTIONS,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
  });
}

/** For `net.connect`. Addresses that are not allowed are left out of the answer. */
export function guardedLookup(resolve: Resolve, isAllowed: (address: string) => boolean): LookupFunction {
  return (hostname, { all, family }, callback) => {
    const wanted = family === 4 || family === 'IPv4' ? 4 : family === 6 || family === 'IPv6' ? 6 : 0;
    resolve(hostname).then(
      (addresses) => {
        const allowed = addresses.filter((each) => isAllowed(each.address) && (wanted === 0 || each.family === wanted));
        const [first] = allowed;
        if (first === undefined) callback(new AddressNotAllowedError(), '');
        else if (all) callback(null, allowed);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
}

/**
 * Asks the system, and for one name once at a time: a question holds a thread of Node's pool until it is answered, and a name whose servers are silent would
 * hold all of them.
 */
function resolveOnce(): Resolve {
  const asked = new Map<string, Promise<LookupAddress[]>>();
  return (hostname) => {
    const already = asked.get(hostname);
    if (already !== undefined) return already;
    const answer = new Promise<LookupAddress[]>((resolve, reject) => {
      systemLookup(hostname, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
    }).finally(() => asked.delete(hostname));
    asked.set(hostname, answer);
    return answer;
  };
}
