import { setTimeout as sleep } from 'node:timers/promises';
import type { HeadersOf } from '#edge';
import type { CallerLimit } from '../callers/caller-limit.js';
import type { CheckRequest } from '../decisions/check-request.js';
import { refusalOfDecision } from '../decisions/decision.js';
import type { Decisions } from '../decisions/decisions.js';
import { type Answer, refusalAnswer } from './answer.js';
import type { Call } from './call.js';

export interface ProxyDoor {
  /** By paths that nobody rewrites: the proxy passes on what it was asked. */
  readonly decisions: Decisions;
  readonly limit: CallerLimit;
  readonly headersOf: HeadersOf;
}

/** For a proxy that has left: it passes nothing on any more. */
const TOO_LATE: Answer = { status: 503, headers: [] };

/**
 * 200 without a body, or the refusal of a gateway with its headers. What waits its turn in a queue is answered when its turn has come, because a proxy knows no other way
 * to hold a request; if the proxy has left by then, what was taken is given back.
 */
export async function answerForProxy(request: CheckRequest, call: Call, { decisions, limit, headersOf }: ProxyDoor): Promise<Answer> {
  limit.demand(call.caller, 1);
  const decision = await decisions.check(request, call.requestId);
  if (!decision.allowed) return refusalAnswer(refusalOfDecision(decision, call.requestId, headersOf));
  if (decision.waitMs > 0) await sleep(decision.waitMs, undefined, { signal: call.left }).catch(() => {});
  if (!call.left.aborted) return { status: 200, headers: decision.headers };
  decisions.giveBack(decision);
  return TOO_LATE;
}
