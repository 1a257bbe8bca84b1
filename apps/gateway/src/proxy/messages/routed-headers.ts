import type { Caller } from '../../identity/index.js';
import { type HeaderRewrite, rewritten } from './header-rewrite.js';
import { clientHeaders, type ClientHeaders, type ForwardedHead, type Hop, type Secrets, upstreamHeaders } from './hop-by-hop.js';
import { type RequestTrace, withoutTraceContext } from '../request-trace.js';
import type { Route } from '../routes.js';

interface ForwardedRequest {
  readonly method: string;
  readonly head: ForwardedHead;
  readonly requestId: string;
  readonly caller: Caller | null;
  readonly trace: RequestTrace | undefined;
}

/** Some servers take what these say for the method. An OPTIONS that is not charged must not become a request that is. */
const NO_OTHER_METHOD: HeaderRewrite = {
  replaced: new Set(['x-http-method-override', 'x-http-method', 'x-method-override']),
  added: [],
};

/** The headers of a request that go to the upstream of its route, as a flat list of names and values. */
export function forwardedHeaders(
  { method, head, requestId, caller, trace }: ForwardedRequest,
  rawHeaders: readonly string[],
  hop: Hop,
  secrets: Secrets,
  { requestHeaders }: Route,
): string[] {
  const headers = upstreamHeaders(rawHeaders, head, hop, requestId, caller, secrets);
  const meant = method === 'OPTIONS' ? rewritten(headers, NO_OTHER_METHOD) : headers;
  const routed = requestHeaders === undefined ? meant : rewritten(meant, requestHeaders);
  return trace === undefined ? routed : withoutTraceContext(routed);
}

/** The headers of an answer that go to the client. */
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
