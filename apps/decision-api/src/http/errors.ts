import { type Logger, ProblemError } from '#platform';
import { ClaimUnavailableError, PathRefusedError } from '../decisions/decisions.js';
import { type Answer, problemAnswer, refusalAnswer } from './answer.js';

/** Why there is no other answer. */
export function answerOfError(error: unknown, requestId: string, logger: Pick<Logger, 'error'>): Answer {
  if (error instanceof ProblemError) return problemAnswer(error, requestId);
  if (error instanceof PathRefusedError) return refusalAnswer(error.problem.answer(requestId));
  if (error instanceof ClaimUnavailableError) return problemAnswer(claimUnavailable(), requestId);
  logger.error({ err: error, requestId }, 'a call failed');
  return problemAnswer(new ProblemError({ status: 500, code: 'decision_api.failed', detail: 'the call failed' }), requestId);
}

function claimUnavailable(): ProblemError {
  return new ProblemError({
    status: 503,
    type: 'temporary-reduced-capacity',
    code: 'claim.unavailable',
    detail: 'the claim cannot be ended at the moment, and perhaps it has ended: ask again, which does no harm',
    headers: { 'retry-after': '1' },
  });
}

export function tooManyCalls(): ProblemError {
  return new ProblemError({
    status: 503,
    type: 'temporary-reduced-capacity',
    code: 'decision_api.too_many_calls',
    detail: 'too many calls are under way: ask again later, and fewer at a time',
    headers: { 'retry-after': '1' },
  });
}

export function tooManyBodies(): ProblemError {
  return new ProblemError({
    status: 503,
    type: 'temporary-reduced-capacity',
    code: 'decision_api.too_many_bodies',
    detail: 'too many bodies of calls are in memory: ask again later, and fewer at a time',
    headers: { 'retry-after': '1' },
  });
}
