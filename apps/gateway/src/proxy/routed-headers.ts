import type { Caller } from '../identity/index.js';
import { rewritten } from './header-rewrite.js';
import { clientHeaders, type ClientHeaders, type ForwardedHead, type Hop, type Secrets, upstreamHeaders } from './hop-by-hop.js';
import { type RequestTrace, withoutTraceContext } from './request-trace.js';
import type { Route } from './routes.js';

interface ForwardedRequest {
  readonly head: ForwardedHead;
  readonly requestId: string;
  readonly caller: Caller | null;
  readonly trace: RequestTrace | undefined;
}

/** What of a request goes to the upstream of its route, as a flat list of names and values. */
export function forwardedHeaders(
  { head, requestId, caller, trace }: ForwardedRequest,
  rawHeaders: readonly string[],
  hop: Hop,
  secrets: Secrets,
  { requestHeaders }: Route,
): string[] {
  const headers = upstreamHeaders(rawHeaders, head, hop, requestId, caller, secrets);
  const routed = requestHeaders === undefined ? headers : rewritten(headers, requestHeaders);
  return trace === undefined ? routed : withoutTraceContext(routed);
}

/** What of an answer goes to the client. */
export function answeredHeaders(
  raw: readonly Buffer[],
  status: number,
  requestId: string,
  added: readonly string[],
  { responseHeaders }: Route,
): ClientHeaders {
  const answered = clientHeaders(raw, status, requestId, added);
  if (responseHeaders !== undefined) answered.headers = rewritten(answered.headers, responseHeaders);
  return answered;
}
