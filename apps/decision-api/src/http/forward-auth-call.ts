import { setTimeout as sleep } from 'node:timers/promises';
import { type HeadersOf, KnownAddresses, type Trust } from '#edge';
import type { CallerLimit } from '../callers/caller-limit.js';
import { refusalOfDecision } from '../decisions/decision.js';
import type { Decisions } from '../decisions/decisions.js';
import { forwardedRequest } from '../forward-auth/forwarded-request.js';
import { refusalAnswer } from './answer.js';
import type { Route } from './call.js';

/**
 * /v1/forward-auth, by any method: 200 without a body, or the refusal of a gateway with its headers. What waits its turn in a queue is answered when its turn has come,
 * because a proxy knows no other way to hold a request.
 *
 * @param decisions by paths that nobody rewrites: the proxy passes on what it was asked
 */
export function forwardAuthCall(decisions: Decisions, limit: CallerLimit, headersOf: HeadersOf, trusts: Trust): Route {
  const known = new KnownAddresses(trusts);
  return {
    handle: async (call) => {
      // The query is not looked at: Caddy sends that of its client along.
      const request = forwardedRequest(call, known);
      limit.demand(call.caller, 1);
      const decision = await decisions.check(request, call.requestId);
      if (!decision.allowed) return refusalAnswer(refusalOfDecision(decision, call.requestId, headersOf));
      if (decision.waitMs > 0) await sleep(decision.waitMs);
      return { status: 200, headers: decision.headers };
    },
  };
}
