import { setTimeout as sleep } from 'node:timers/promises';
import { type HeadersOf, KnownAddresses, type Trust } from '#edge';
import type { CallerLimit } from '../callers/caller-limit.js';
import { refusalOfDecision } from '../decisions/decision.js';
import type { Decisions } from '../decisions/decisions.js';
import { prefixedRequest } from '../envoy/prefixed-request.js';
import { refusalAnswer } from './answer.js';
import type { Route } from './call.js';

/**
 * /v1/ext-authz/**, for the filter ext_authz of Envoy by HTTP: 200 without a body, or the refusal of a gateway with its headers. What waits its turn in a queue is
 * answered when its turn has come.
 *
 * @param decisions by paths that nobody rewrites: Envoy passes on what it was asked
 */
export function extAuthzCall(decisions: Decisions, limit: CallerLimit, headersOf: HeadersOf, trusts: Trust): Route {
  const known = new KnownAddresses(trusts);
  return {
    handle: async (call) => {
      const request = prefixedRequest(call, known);
      limit.demand(call.caller, 1);
      const decision = await decisions.check(request, call.requestId);
      if (!decision.allowed) return refusalAnswer(refusalOfDecision(decision, call.requestId, headersOf));
      if (decision.waitMs > 0) await sleep(decision.waitMs);
      return { status: 200, headers: decision.headers };
    },
  };
}
