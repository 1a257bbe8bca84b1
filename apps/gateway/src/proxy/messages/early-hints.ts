import type { ClientResponse } from './client-message.js';
import { HeaderKind, headerKind } from './header-kind.js';

/** The interim answer with which an upstream says what its answer will refer to (RFC 8297). */
export const EARLY_HINTS = 103;

/** So many of one answer are passed on: none waits for the client to read it. */
export const MOST_EARLY_HINTS = 8;

/**
 * The headers of early hints that go on: links, and what says which of them may be followed. Clients use no others, and what belongs to the answer comes with the answer.
 *
 * @param raw names and values alternating, as the upstream has sent them
 * @returns a flat list; empty if there is no link
 */
export function hintHeaders(raw: readonly Buffer[]): string[] {
  const headers: string[] = [];
  let hasLink = false;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toString('latin1');
    if (headerKind(name) !== HeaderKind.Other) continue;
    const lowerCase = name.toLowerCase();
    if (lowerCase !== 'link' && lowerCase !== 'content-security-policy') continue;
    hasLink ||= lowerCase === 'link';
    headers.push(name, raw[i + 1]!.toString('latin1'));
  }
  return hasLink ? headers : [];
}

/** Sends early hints to a client of HTTP/1.1 or HTTP/2. @param headers flat list of names and values */
export function sendEarlyHints(response: ClientResponse, headers: readonly string[]): void {
  if (response.inform !== undefined) {
    response.inform(EARLY_HINTS, headers);
    return;
  }
  let lines = '';
  for (let i = 0; i < headers.length; i += 2) lines += `${headers[i]}: ${headers[i + 1]}\r\n`;
  // Node's own call takes fewer forms of Link than there are.
  response.socket?.write(`HTTP/1.1 103 Early Hints\r\n${lines}\r\n`, 'latin1');
}
