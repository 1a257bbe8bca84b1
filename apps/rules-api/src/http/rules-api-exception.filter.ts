import { type ArgumentsHost, Catch } from '@nestjs/common';
import { ProblemDetailsFilter, ProblemError } from '#platform';
import {
  isDatabaseUnavailable,
  MerchantExistsError,
  MerchantNotFoundError,
  RuleNameTakenError,
  RuleNotFoundError,
  TokenNameTakenError,
  TokenNotFoundError,
  TooManyRulesError,
  TooManyTokensError,
  VersionConflictError,
} from '#rules-db';
import { entityTag } from './entity-tag.js';

/** Answers what the database refuses, and its absence, as problems. */
@Catch()
export class RulesApiExceptionFilter extends ProblemDetailsFilter {
  override catch(exception: unknown, host: ArgumentsHost): void {
    super.catch(asProblem(exception) ?? exception, host);
  }
}

/** The problem that an error of rules-db stands for; nothing for other errors. */
export function asProblem(error: unknown): ProblemError | undefined {
  if (error instanceof MerchantNotFoundError || error instanceof RuleNotFoundError || error instanceof TokenNotFoundError) {
    return new ProblemError({ status: 404, detail: error.message });
  }
  if (error instanceof MerchantExistsError) {
    return new ProblemError({ status: 409, detail: error.message, errors: [{ pointer: '/id', detail: 'is taken' }] });
  }
  if (error instanceof RuleNameTakenError || error instanceof TokenNameTakenError) {
    return new ProblemError({ status: 409, detail: error.message, errors: [{ pointer: '/name', detail: 'is taken' }] });
  }
  if (error instanceof TooManyRulesError || error instanceof TooManyTokensError)
    return new ProblemError({ status: 409, detail: error.message });
  if (error instanceof VersionConflictError) {
    const tag = entityTag(error.current);
    return new ProblemError({
      status: 412,
      detail: `it has changed since: its ETag is ${tag} by now; read it again and decide anew`,
      headers: { etag: tag },
    });
  }
  return isDatabaseUnavailable(error) ? databaseUnavailable(error) : undefined;
}

/** The database is gone or too slow. Whether a write was done before the connection broke, nobody knows. */
export function databaseUnavailable(cause?: unknown): ProblemError {
  return new ProblemError(
    {
      status: 503,
      detail: 'the database does not answer; read before you repeat a write, it may have been done',
      headers: { 'retry-after': '1' },
    },
    { cause },
  );
}
