import { METHODS as PARSED_METHODS } from 'node:http';

/**
 * The methods that are forwarded: all that node's parser knows but two. TRACE would show a client the headers that the
 * gateway adds, and CONNECT asks for another kind of proxy.
 */
export const METHODS: readonly string[] = PARSED_METHODS.filter((method) => method !== 'TRACE' && method !== 'CONNECT');

const KNOWN: ReadonlySet<string> = new Set(METHODS);

export function isKnownMethod(method: string): boolean {
  return KNOWN.has(method);
}

/** A token and a target. The first bytes of other protocols are none. */
const REQUEST_LINE = /^[!#$%&'*+\-.^`|~\w]{1,32} [\x21-\x7e]/;

/**
 * Whether node's parser stopped at the method of what looks like a request.
 *
 * @param stoppedAt how many bytes of the packet the parser had read
 */
export function isUnknownMethod(packet: Buffer, stoppedAt: number): boolean {
  const lineStart = stoppedAt === 0 ? 0 : packet.lastIndexOf(0x0a, stoppedAt - 1) + 1;
  return REQUEST_LINE.test(packet.toString('latin1', lineStart, lineStart + 64));
}
