import type { HeadersOf } from '#edge';
import type { CallerLimit } from '../callers/caller-limit.js';
import { CHECK_FIELDS } from '../decisions/check-fields.js';
import { type MadeDecision, refusalOfDecision } from '../decisions/decision.js';
import type { Decisions } from '../decisions/decisions.js';
import { type Answer, jsonAnswer, refusalAnswer } from './answer.js';
import type { Route } from './call.js';
import { shownDecision } from './shown-decision.js';
import { demandKnown, truthIn, validObject } from './valid-body.js';

/** The body of a request is 64 KiB of it at most, and headers as much as a proxy lets through. */
export const MOST_CHECK_BYTES = 256 * 1024;

/** POST /v1/check: 200 whatever the verdict, or with `?asStatus=true` the status, the headers and the body with which a gateway refuses. */
export function checkCall(decisions: Decisions, limit: CallerLimit, headersOf: HeadersOf): Route {
  return {
    method: 'POST',
    handle: async (call) => {
      demandKnown(call.query, ['asStatus']);
      const asStatus = truthIn(call.query, 'asStatus');
      const request = validObject(await call.body(MOST_CHECK_BYTES), CHECK_FIELDS);
      limit.demand(call.caller, 1);
      const decision = await decisions.check(request, call.requestId);
      return decisionAnswer(decision, call.requestId, asStatus, headersOf);
    },
  };
}

export function decisionAnswer(decision: MadeDecision, requestId: string, asStatus: boolean, headersOf: HeadersOf): Answer {
  if (!asStatus) return jsonAnswer(shownDecision(decision));
  if (!decision.allowed) return refusalAnswer(refusalOfDecision(decision, requestId, headersOf));
  return jsonAnswer(shownDecision(decision), 200, decision.headers);
}
