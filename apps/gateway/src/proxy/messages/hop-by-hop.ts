import { hasApiKey, isBearer } from '../../identity/authorization.js';
import type { Caller } from '../../identity/index.js';
import { HeaderKind, headerKind } from './header-kind.js';

/** Appends options of a Connection header in lower case; `close` and `keep-alive` name no header. */
export function addConnectionOptions(list: string[] | null, options: readonly string[]): string[] | null {
  for (const option of options) {
    const name = option.trim().toLowerCase();
    if (name !== '' && name !== 'close' && name !== 'keep-alive') (list ??= []).push(name);
  }
  return list;
}

/** What is known of the client's request from the look at its headers. */
export interface ForwardedHead {
  /** Lower-case names that the client's Connection header declares to be for this hop only. */
  readonly connectionOptions: readonly string[] | null;
  readonly host: string;
}

/** What is between clients and the gateway, beside API keys in Authorization. */
export interface Secrets {
  /** A header in which API keys come as well, in lower case; empty: none. */
  readonly header: string;
  /** Every bearer token in Authorization. */
  readonly bearer: boolean;
}

export const NO_SECRETS: Secrets = { header: '', bearer: false };

/** Where the request came from. */
export interface Hop {
  /** Whether the peer may say who the client is and where the request came from. */
  readonly trusted: boolean;
  readonly peer: string;
  /** Whether it came by TLS; not unless given. */
  readonly secure?: boolean;
}

/**
 * The headers for the upstream as a flat list of names and values.
 *
 * - Hop-by-hop headers (but `TE: trailers`) and those named by Connection are left out, but Connection has no power over the headers that
 *   say who is asking (X-Merchant-Id, X-Forwarded-*, ...): naming them must not make them disappear.
 * - X-Forwarded-For, -Proto, -Host and X-Request-Id are set. A trusted peer's X-Forwarded-For is appended to and its
 *   -Proto and -Host stay; what other peers say about forwarding or about the merchant is dropped.
 * - Host, Content-Length and Expect are left out: they belong to the connection that forwards.
 * - An API key of ours in Authorization is left out, as are other secrets of the client and the gateway. For a caller that was known by a credential, so are X-Merchant-Id and
 *   X-User-Id of the client, which are set instead.
 * - From any sender, names that look like one of these with `_` for `-` are left out, as are X-Original-URL and
 *   X-Rewrite-URL, which some frameworks serve instead of the path that the rules have seen.
 */
export function upstreamHeaders(
  rawHeaders: readonly string[],
  { connectionOptions: named, host }: ForwardedHead,
  { trusted, peer, secure }: Hop,
  requestId: string,
  caller: Caller | null = null,
  secrets: Secrets = NO_SECRETS,
): string[] {
  const headers: string[] = [];
  let forwardedFor = '';
  let hasProto = false;
  let hasHost = false;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    const value = rawHeaders[i + 1]!;
    const kind = headerKind(name);
    switch (kind) {
      case HeaderKind.Authorization:
      case HeaderKind.Other:
      case HeaderKind.RateLimit:
        if (!isSecret(kind, name, value, secrets) && (named === null || !named.includes(name.toLowerCase()))) headers.push(name, value);
        break;
      case HeaderKind.ForwardedFor:
        if (trusted && value !== '') forwardedFor += `${value}, `;
        break;
      case HeaderKind.ForwardedProto:
      case HeaderKind.ForwardedHost:
        if (!trusted) break;
        if (kind === HeaderKind.ForwardedProto) hasProto = true;
        else hasHost = true;
        headers.push(name, value);
        break;
      case HeaderKind.MerchantId:
      case HeaderKind.UserId:
      case HeaderKind.ForwardedOther:
        if (trusted && (caller === null || kind === HeaderKind.ForwardedOther)) headers.push(name, value);
        break;
      case HeaderKind.HopByHop:
        // Of this hop, but the upstream is asked for trailers by a gateway that passes them on.
        if (name.length === 2 && TAKES_TRAILERS.test(value) && !hasName(headers, 'te')) headers.push('TE', 'trailers');
        break;
      default:
        // Of this hop, or written anew below.
        break;
    }
  }
  headers.push('X-Forwarded-For', forwardedFor + peer);
  if (!hasProto) headers.push('X-Forwarded-Proto', secure === true ? 'https' : 'http');
  if (!hasHost && host !== '') headers.push('X-Forwarded-Host', host);
  headers.push('X-Request-Id', requestId);
  return caller === null ? headers : withCaller(headers, caller);
}

/** In the value of TE. */
const TAKES_TRAILERS = /(?:^|,)[ \t]*trailers[ \t]*(?:,|$)/i;

/** A header of another name with `_` for `-` would be taken for it by CGI. */
function isSecret(kind: HeaderKind, name: string, value: string, { header, bearer }: Secrets): boolean {
  if (kind === HeaderKind.Authorization) return hasApiKey(value) || (bearer && isBearer(value));
  return header !== '' && name.length === header.length && name.toLowerCase().replaceAll('_', '-') === header;
}

function withCaller(headers: string[], { merchantId, user }: Caller): string[] {
  headers.push('X-Merchant-Id', onTheWire(merchantId));
  if (user !== null) headers.push('X-User-Id', onTheWire(user));
  return headers;
}

/** UTF-8, a character each byte, as Node writes headers. */
function onTheWire(text: string): string {
  let i = 0;
  while (i < text.length && text.charCodeAt(i) < 0x80) i++;
  if (i === text.length) return text;
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** The answer's headers, and what they say about its body. */
export interface ClientHeaders {
  /** Flat list of names and values. */
  headers: string[];
  /** The declared Content-Length in bytes, or -1. */
  contentLength: number;
}

/**
 * The upstream's headers for the client: without hop-by-hop headers, those named by Connection and those that look like
 * one that the gateway sets or reads with `_` for `-`, and with `added`
 * (flat names and values) in place of any of the same name. Node adds Connection, Keep-Alive and Transfer-Encoding
 * for the client's connection, and Date if the upstream sent none.
 *
 * @param raw names and values alternating, as undici hands them out
 */
export function clientHeaders(raw: readonly Buffer[], status: number, requestId: string, added: readonly string[]): ClientHeaders {
  const headers: string[] = [];
  let contentLength = -1;
  let named: string[] | null = null;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toString('latin1');
    const value = raw[i + 1]!.toString('latin1');
    switch (headerKind(name)) {
      case HeaderKind.Connection:
        if (value !== 'keep-alive' && value !== 'close') named = addConnectionOptions(named, value.split(','));
        break;
      case HeaderKind.HopByHop:
      case HeaderKind.TransferEncoding:
      case HeaderKind.Upgrade:
      case HeaderKind.RequestId:
      case HeaderKind.LookAlike:
        break;
      case HeaderKind.ContentLength:
        // RFC 9110 forbids it in these, and not every client copes.
        if (status === 204 || status < 200) break;
        contentLength = Number(value);
        headers.push(name, value);
        break;
      default:
        if (!hasName(added, name)) headers.push(name, value);
    }
  }
  const kept = named === null ? headers : without(headers, named);
  for (let i = 0; i < added.length; i++) kept.push(added[i]!);
  kept.push('X-Request-Id', requestId);
  return { headers: kept, contentLength };
}

/** Whether a flat list of names and values has a header of this name, in any case. */
export function hasName(list: readonly string[], name: string): boolean {
  for (let i = 0; i < list.length; i += 2) {
    const listed = list[i]!;
    if (listed.length === name.length && listed.toLowerCase() === name.toLowerCase()) return true;
  }
  return false;
}

/** Content-Length stays even if Connection names it: without it the body would be delimited differently. */
function without(headers: readonly string[], names: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const kind = headerKind(name);
    const dropped = (kind === HeaderKind.Other || kind === HeaderKind.RateLimit) && names.includes(name.toLowerCase());
    if (!dropped) kept.push(name, headers[i + 1]!);
  }
  return kept;
}
