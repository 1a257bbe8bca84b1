import { type Logger, ProblemError } from '#platform';
import { ClaimUnavailableError, PathRefusedError } from '../decisions/decisions.js';
import { claimUnavailable } from '../problems.js';
import { type Answer, problemAnswer, refusalAnswer } from './answer.js';

/** Why there is no other answer. */
export function answerOfError(error: unknown, requestId: string, logger: Pick<Logger, 'error'>): Answer {
  if (error instanceof ProblemError) return problemAnswer(error, requestId);
  if (error instanceof PathRefusedError) return refusalAnswer(error.problem.answer(requestId));
  if (error instanceof ClaimUnavailableError) return problemAnswer(claimUnavailable(), requestId);
  logger.error({ err: error, requestId }, 'a call failed');
  return problemAnswer(new ProblemError({ status: 500, code: 'decision_api.failed', detail: 'the call failed' }), requestId);
}
