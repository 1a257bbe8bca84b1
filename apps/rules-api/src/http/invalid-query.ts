import { type ParameterError, ProblemError } from '#platform';

/** A query with wrong or unknown parameters. */
export function invalidQuery(errors: readonly ParameterError[]): ProblemError {
  return new ProblemError({ status: 400, type: 'invalid-query', code: 'query.invalid', detail: 'the query is wrong', errors });
}
