import type { CallerLimit } from '../callers/caller-limit.js';
import { WAIT_FIELDS } from '../decisions/check-fields.js';
import { TooManyWaitingError, type Waiters } from '../decisions/waiters.js';
import { tooManyWaiting } from '../problems.js';
import { jsonAnswer } from './answer.js';
import type { Route } from './call.js';
import { MOST_CHECK_BYTES } from './check-call.js';
import { shownDecision } from './shown-decision.js';
import { demandKnown, validObject } from './valid-body.js';

/** POST /v1/wait: a check that is answered when it passes, or at once if it will not within `maxWaitMs`. */
export function waitCall(waiters: Waiters, limit: CallerLimit): Route {
  return {
    method: 'POST',
    handle: async (call) => {
      demandKnown(call.query, []);
      const { maxWaitMs, ...request } = validObject(await call.body(MOST_CHECK_BYTES), WAIT_FIELDS);
      limit.demand(call.caller, 1);
      try {
        return jsonAnswer(shownDecision(await waiters.wait(request, maxWaitMs, call.left, call.requestId)));
      } catch (error) {
        throw error instanceof TooManyWaitingError ? tooManyWaiting() : error;
      }
    },
  };
}
