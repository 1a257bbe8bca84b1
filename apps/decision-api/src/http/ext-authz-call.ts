import { KnownAddresses, rawValues, type Trust } from '#edge';
import { MOST_BODY_BYTES } from '#limiter';
import type { CheckRequest } from '../decisions/check-request.js';
import { prefixedRequest } from '../envoy/prefixed-request.js';
import { PARTIAL_BODY_HEADER, sentBody } from '../envoy/sent-body.js';
import { answerForProxy, type ProxyDoor } from './answer-for-proxy.js';
import type { Call, Route } from './call.js';

/** /v1/ext-authz/**, by any method, for the filter ext_authz of Envoy by HTTP. */
export function extAuthzCall(door: ProxyDoor, trusts: Trust): Route {
  const known = new KnownAddresses(trusts);
  return { handle: async (call) => answerForProxy(await withBody(prefixedRequest(call, known), call), call, door) };
}

/** With its body, if Envoy is configured to send it and rules can read one of that length. */
async function withBody(request: CheckRequest, call: Call): Promise<CheckRequest> {
  const said = (name: string): readonly string[] => rawValues(call.rawHeaders, name);
  const length = Number(said('content-length')[0] ?? 0);
  if (!(length > 0 && length <= MOST_BODY_BYTES)) return request;
  const types = said('content-type');
  const { method } = call;
  const isPartial = said(PARTIAL_BODY_HEADER).includes('true');
  const body = await call.bytes(MOST_BODY_BYTES);
  return { ...request, bodyUnknown: undefined, ...sentBody({ method, contentType: types.length === 1 ? types[0]! : '', isPartial, body }) };
}
