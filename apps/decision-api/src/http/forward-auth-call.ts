import { KnownAddresses, type Trust } from '#edge';
import { forwardedRequest } from '../forward-auth/forwarded-request.js';
import { answerForProxy, type ProxyDoor } from './answer-for-proxy.js';
import type { Route } from './call.js';

/** /v1/forward-auth, by any method. The query is not looked at: Caddy sends that of its client along. */
export function forwardAuthCall(door: ProxyDoor, trusts: Trust): Route {
  const known = new KnownAddresses(trusts);
  return { handle: async (call) => answerForProxy(forwardedRequest(call, known), call, door) };
}
