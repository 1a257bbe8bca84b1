import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { ETAG } from './operation-headers.js';
import { ProblemSchema } from './problem.schema.js';

/** What the document says of each status of a problem. */
const PROBLEMS = {
  400: 'The request is malformed, or fields of it are wrong: then errors names them.',
  401: 'The token is missing or not valid.',
  403: 'The role of the token does not allow this, or the token is limited to other merchants.',
  404: 'Not found: no merchant, plan, rule, override, token or API key has this id.',
  409: 'The id or the name is already in use, the owner has the maximum number of rules, merchants have the plan, a file would delete too much, or the answer to this Idempotency-Key cannot be repeated.',
  412: 'The resource has changed since the version in If-Match.',
  413: 'The body is too large.',
  415: 'The content type of the body is not application/json, nor application/merge-patch+json for PATCH, nor application/yaml for a file.',
  422: 'The Idempotency-Key belongs to another request.',
  428: 'If-Match is missing. Send it with the ETag that was read, or with *.',
  429: 'This address has tried too many unknown tokens, or a merchant asks for itself too often.',
  431: 'The request line and the headers are too large.',
  500: 'The server failed to answer.',
  503: 'The database does not answer.',
} as const;

export type ProblemStatus = keyof typeof PROBLEMS;

const PROBLEM_HEADERS: { readonly [S in ProblemStatus]?: Record<string, object> } = {
  401: { 'WWW-Authenticate': { schema: { type: 'string', example: 'Bearer realm="tollgate"' } } },
  412: ETAG,
  429: { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } },
  503: { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } },
};

/** Of every operation. 400: an unknown name in the query. 405 is for methods that no route has. */
const ALWAYS = [400, 401, 403, 429, 431, 500, 503] as const;
/** Of every operation whose request has a body. */
export const WITH_BODY = [400, 413, 415] as const;

export function problemResponses(problems: readonly ProblemStatus[]): MethodDecorator {
  const statuses = [...new Set([...ALWAYS, ...problems])].sort((a, b) => a - b);
  return applyDecorators(
    ApiExtraModels(ProblemSchema),
    ...statuses.map((status) =>
      ApiResponse({
        status,
        description: PROBLEMS[status],
        headers: PROBLEM_HEADERS[status] ?? {},
        content: { 'application/problem+json': { schema: { $ref: getSchemaPath(ProblemSchema) } } },
      }),
    ),
  );
}
