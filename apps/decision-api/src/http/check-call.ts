import type { HeadersOf } from '#edge';
import type { CallerLimit } from '../callers/caller-limit.js';
import { CHECK_FIELDS } from '../decisions/check-fields.js';
import { type MadeDecision, refusalOfDecision } from '../decisions/decision.js';
import type { Decisions } from '../decisions/decisions.js';
import { type Answer, jsonTextAnswer, refusalAnswer } from './answer.js';
import type { PlainRoute, Route } from './call.js';
import { jsonObject } from './request-body.js';
import { decisionText } from './shown-decision.js';
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
    plain: { mostBytes: MOST_CHECK_BYTES, handle: plainCheck(decisions, limit) },
  };
}

function plainCheck(decisions: Decisions, limit: CallerLimit): PlainRoute['handle'] {
  return (body, { caller, requestId }, answered) => {
    const request = validObject(jsonObject(body), CHECK_FIELDS);
    limit.demand(caller, 1);
    const tell = (decision: MadeDecision | Error): void => answered(decision instanceof Error ? decision : shownAnswer(decision));
    if (request.wantClaim === true) decisions.check(request, requestId).then(tell, tell);
    else decisions.checkThen(request, requestId, tell);
  };
}

function shownAnswer(decision: MadeDecision, headers?: readonly string[]): Answer {
  return jsonTextAnswer(decisionText(decision), 200, headers);
}

function decisionAnswer(decision: MadeDecision, requestId: string, asStatus: boolean, headersOf: HeadersOf): Answer {
  if (!asStatus) return shownAnswer(decision);
  if (!decision.allowed) return refusalAnswer(refusalOfDecision(decision, requestId, headersOf));
  return shownAnswer(decision, decision.headers);
}
