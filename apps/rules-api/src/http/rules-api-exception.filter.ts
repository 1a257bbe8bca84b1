import { type ArgumentsHost, Catch } from '@nestjs/common';
import { ProblemDetailsFilter, ProblemError } from '#platform';
import {
  ApiKeyNameTakenError,
  ApiKeyNotFoundError,
  isDatabaseUnavailable,
  MerchantExistsError,
  MerchantNotFoundError,
  PlanInUseError,
  PlanNotFoundError,
  PoolBusyError,
  RuleNameTakenError,
  RuleNotFoundError,
  TokenNameTakenError,
  TokenNotFoundError,
  TooManyApiKeysError,
  TooManyPlansError,
  TooManyRulesError,
  TooManyTokensError,
  UnknownPlanError,
  VersionConflictError,
} from '#rules-db';
import { entityTag } from './entity-tag.js';
import { badBody } from './validation.pipe.js';

/** Answers what the database refuses, and its absence, as problems. */
@Catch()
export class RulesApiExceptionFilter extends ProblemDetailsFilter {
  override catch(exception: unknown, host: ArgumentsHost): void {
    super.catch(asProblem(exception) ?? exception, host);
  }
}

const NOT_FOUND = [
  [MerchantNotFoundError, 'merchant.not_found'],
  [RuleNotFoundError, 'rule.not_found'],
  [PlanNotFoundError, 'plan.not_found'],
  [TokenNotFoundError, 'token.not_found'],
  [ApiKeyNotFoundError, 'api_key.not_found'],
] as const;

/** The problem that an error of rules-db stands for; nothing for other errors. */
export function asProblem(error: unknown): ProblemError | undefined {
  const notFound = NOT_FOUND.find(([type]) => error instanceof type);
  if (notFound) return new ProblemError({ status: 404, code: notFound[1], detail: (error as Error).message });
  if (error instanceof MerchantExistsError) {
    return taken('merchant.id.taken', '/id', error);
  }
  if (error instanceof RuleNameTakenError) return taken('rule.name.taken', '/name', error);
  if (error instanceof TokenNameTakenError) return taken('token.name.taken', '/name', error);
  if (error instanceof ApiKeyNameTakenError) return taken('api_key.name.taken', '/name', error);
  if (error instanceof TooManyRulesError) return new ProblemError({ status: 409, code: 'rule.too_many', detail: error.message });
  if (error instanceof TooManyPlansError) return new ProblemError({ status: 409, code: 'plan.too_many', detail: error.message });
  if (error instanceof PlanInUseError) return new ProblemError({ status: 409, code: 'plan.in_use', detail: error.message });
  if (error instanceof UnknownPlanError)
    return badBody([{ pointer: '/plan', code: 'merchant.plan.not_found', detail: `must be the name of a plan, and ${error.message}` }]);
  if (error instanceof TooManyTokensError) return new ProblemError({ status: 409, code: 'token.too_many', detail: error.message });
  if (error instanceof TooManyApiKeysError) return new ProblemError({ status: 409, code: 'api_key.too_many', detail: error.message });
  if (error instanceof VersionConflictError) {
    const tag = entityTag(error.current);
    return new ProblemError({
      status: 412,
      code: 'version.changed',
      detail: `it has changed since: its ETag is ${tag} by now; read it again and decide anew`,
      headers: { etag: tag },
    });
  }
  if (error instanceof PoolBusyError) return databaseBusy(error);
  return isDatabaseUnavailable(error) ? databaseUnavailable(error) : undefined;
}

/** So many requests wait for a connection that this one was not let in. */
function databaseBusy(cause: PoolBusyError): ProblemError {
  return new ProblemError(
    {
      status: 503,
      code: 'database.busy',
      detail: 'too many requests wait for the database; nothing was changed, repeat this one later',
      headers: { 'retry-after': '1' },
    },
    { cause },
  );
}

function taken(code: string, pointer: string, { message }: Error): ProblemError {
  return new ProblemError({ status: 409, code, detail: message, errors: [{ pointer, code, detail: 'is taken' }] });
}

/** The database is gone or too slow. Whether a write was done before the connection broke, nobody knows. */
export function databaseUnavailable(cause?: unknown): ProblemError {
  return new ProblemError(
    {
      status: 503,
      code: 'database.unavailable',
      detail: 'the database does not answer; read before you repeat a write, it may have been done',
      headers: { 'retry-after': '1' },
    },
    { cause },
  );
}
