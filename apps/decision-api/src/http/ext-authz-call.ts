import { KnownAddresses, type Trust } from '#edge';
import { prefixedRequest } from '../envoy/prefixed-request.js';
import { answerForProxy, type ProxyDoor } from './answer-for-proxy.js';
import type { Route } from './call.js';

/** /v1/ext-authz/**, by any method, for the filter ext_authz of Envoy by HTTP. */
export function extAuthzCall(door: ProxyDoor, trusts: Trust): Route {
  const known = new KnownAddresses(trusts);
  return { handle: async (call) => answerForProxy(prefixedRequest(call, known), call, door) };
}
