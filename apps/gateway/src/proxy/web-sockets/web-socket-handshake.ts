import { createHash } from 'node:crypto';

/** The base64 of 16 bytes. */
const KEY = /^[A-Za-z0-9+/]{22}==$/;
/** Of RFC 6455, 1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** A request as node's parser has read it. */
interface ParsedRequest {
  readonly method?: string | undefined;
  readonly httpVersion: string;
  readonly rawHeaders: readonly string[];
}

/**
 * Whether a request that asks to speak another protocol is the opening handshake of a WebSocket (RFC 6455, 4.2.1): with one protocol, one key, one version and no body. It
 * decides where the request ends and other bytes begin, so whatever could be read in another way is none.
 */
export function isWebSocketHandshake({ method, httpVersion, rawHeaders }: ParsedRequest): boolean {
  if (method !== 'GET' || httpVersion !== '1.1') return false;
  const found = { upgrade: 0, 'sec-websocket-key': 0, 'sec-websocket-version': 0 };
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    const value = rawHeaders[i + 1]!;
    if (name === 'content-length' || name === 'transfer-encoding') return false;
    if (name === 'upgrade' && value.toLowerCase() === 'websocket') found.upgrade++;
    else if (name === 'sec-websocket-key' && KEY.test(value)) found[name]++;
    else if (name === 'sec-websocket-version' && value === '13') found[name]++;
    else if (Object.hasOwn(found, name)) return false;
  }
  return Object.values(found).every((times) => times === 1);
}

/** Whether an answer of 101 is that of a server that speaks WebSocket, to a handshake with this key. @param rawHeaders names and values alternating */
export function acceptsWebSocket(key: string, rawHeaders: readonly Buffer[]): boolean {
  const valuesOf = (wanted: string): string[] =>
    rawHeaders.flatMap((name, i) =>
      i % 2 === 0 && name.toString('latin1').toLowerCase() === wanted ? rawHeaders[i + 1]!.toString('latin1') : [],
    );
  const accept = createHash('sha1')
    .update(key + GUID)
    .digest('base64');
  return (
    sameList(valuesOf('sec-websocket-accept'), [accept]) &&
    sameList(
      valuesOf('upgrade').map((each) => each.toLowerCase()),
      ['websocket'],
    )
  );
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((each, i) => each === b[i]);
}
