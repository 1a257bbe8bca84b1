import { applyDecorators, type Type, UseInterceptors } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiBearerAuth,
  ApiBody,
  ApiConsumes,
  ApiCreatedResponse,
  ApiExtraModels,
  ApiHeader,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import { MERGE_PATCH_CONTENT_TYPE } from '#platform';
import { IdempotencyInterceptor } from '../http/idempotency.interceptor.js';
import { KnowsQuery } from '../http/known-query.guard.js';
import { ProblemSchema } from './problem.schema.js';

/** Each decorator describes one kind of operation, so that the document says the same of all of its kind. */

/** The security schemes of the document. */
export const TOKEN_SCHEME = 'bearer';
export const MERCHANT_KEY_SCHEME = 'merchantKey';

const ETAG = { ETag: { description: 'The version of the answered resource.', schema: { type: 'string', example: '"3"' } } } as const;
const LOCATION = {
  Location: { description: 'The path of the new resource.', schema: { type: 'string', example: '/v1/merchants/acme' } },
} as const;

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
  500: 'The server failed to answer.',
  503: 'The database does not answer.',
} as const;

type ProblemStatus = keyof typeof PROBLEMS;

const PROBLEM_HEADERS: { readonly [S in ProblemStatus]?: Record<string, object> } = {
  401: { 'WWW-Authenticate': { schema: { type: 'string', example: 'Bearer realm="tollgate"' } } },
  412: ETAG,
  429: { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } },
  503: { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } },
};

/** 400: an unknown name in the query. 405 is for methods that no route has. */
const ALWAYS = [400, 401, 403, 429, 500, 503] as const;
const WITH_BODY = [400, 413, 415] as const;

interface BelowSomething {
  /** The path names a resource that may not be there. */
  readonly belowSomething?: boolean;
}

interface KnownQuery {
  /** Names of its query. */
  readonly query?: readonly string[];
}

/** POST: 201 with Location and ETag. */
export function Creates(
  summary: string,
  view: Type,
  { belowSomething = false, query = [] }: BelowSomething & KnownQuery = {},
): MethodDecorator {
  return operation(
    summary,
    [...WITH_BODY, 409, 422, ...(belowSomething ? [404 as const] : [])],
    ApiCreatedResponse({ type: view, description: 'Created.', headers: { ...LOCATION, ...ETAG } }),
    KnowsQuery(...query),
    takesIdempotencyKey(),
    changeReason(),
  );
}

/** The same for what has no versions. */
export function CreatesUnversioned(summary: string, view: Type, { belowSomething = false }: BelowSomething = {}): MethodDecorator {
  return operation(
    summary,
    [...WITH_BODY, 409, 422, ...(belowSomething ? [404 as const] : [])],
    ApiCreatedResponse({ type: view, description: 'Created.', headers: LOCATION }),
    takesIdempotencyKey(),
    changeReason(),
  );
}

/** GET of a page. @param query names of its query besides limit and cursor */
export function Lists(
  summary: string,
  page: Type,
  { belowSomething = false, query = [] }: BelowSomething & { readonly query?: readonly string[] } = {},
): MethodDecorator {
  return operation(
    summary,
    [400, ...(belowSomething ? [404 as const] : [])],
    ApiOkResponse({ type: page, description: 'A page of the list.' }),
    KnowsQuery('limit', 'cursor', ...query),
  );
}

/** GET of one: 200 with ETag. */
export function Reads(summary: string, view: Type): MethodDecorator {
  return operation(summary, [404], ApiOkResponse({ type: view, description: 'The resource.', headers: ETAG }));
}

/** The same for what has no versions. */
export function ReadsUnversioned(summary: string, view: Type): MethodDecorator {
  return operation(summary, [404], ApiOkResponse({ type: view, description: 'The resource.' }));
}

/** GET that answers a question: 200. @param query names of its query */
export function Asks(summary: string, view: Type, { query }: { readonly query: readonly string[] }): MethodDecorator {
  return operation(summary, [], ApiOkResponse({ type: view, description: 'The answer.' }), KnowsQuery(...query));
}

/** POST that does something with what is there: 200. */
export function Does(summary: string, view: Type): MethodDecorator {
  return operation(summary, [...WITH_BODY, 404], ApiOkResponse({ type: view, description: 'Done.' }), changeReason());
}

/** GET of a page of what a merchant sees of itself, by its API key. @param query names of its query besides limit and cursor */
export function ShowsMerchant(summary: string, page: Type, { query }: { readonly query: readonly string[] }): MethodDecorator {
  return operationBy(
    MERCHANT_KEY_SCHEME,
    summary,
    [400, 404],
    ApiOkResponse({ type: page, description: 'A page of the list.' }),
    KnowsQuery('limit', 'cursor', ...query),
  );
}

/** POST that begins what goes on after the answer: 202. */
export function Begins(summary: string, view: Type): MethodDecorator {
  return operation(summary, [...WITH_BODY, 404, 409], ApiAcceptedResponse({ type: view, description: 'Begun.' }), changeReason());
}

/** POST that decides about what waits: 200. */
export function Decides(summary: string, view: Type): MethodDecorator {
  return operation(summary, [...WITH_BODY, 404, 409], ApiOkResponse({ type: view, description: 'Done.' }), changeReason());
}

/** POST that asks and changes nothing: 200. */
export function Answers(summary: string, view: Type): MethodDecorator {
  return operation(summary, [...WITH_BODY, 404], ApiOkResponse({ type: view, description: 'The answer.' }));
}

/** The same, where the answer takes a while: with application/x-ndjson in Accept it says meanwhile how far it has come. */
export function AnswersInSteps(summary: string, view: Type): MethodDecorator {
  const line = {
    type: 'object',
    properties: {
      progress: { type: 'object', properties: { replayed: { type: 'integer' }, of: { type: 'integer' } } },
      result: { $ref: getSchemaPath(view) },
    },
  };
  return operation(
    summary,
    [...WITH_BODY, 404],
    ApiExtraModels(view),
    ApiOkResponse({
      description: 'The answer; as application/x-ndjson a line for each progress, and the result in the last line.',
      content: { 'application/json': { schema: { $ref: getSchemaPath(view) } }, 'application/x-ndjson': { schema: line } },
    }),
  );
}

/** GET of a file. */
export function Exports(summary: string, document: Type, { query }: { readonly query: readonly string[] }): MethodDecorator {
  const schema = { $ref: getSchemaPath(document) };
  return operation(
    summary,
    [404],
    ApiExtraModels(document),
    ApiOkResponse({ description: 'The file.', content: { 'application/yaml': { schema }, 'application/json': { schema } } }),
    KnowsQuery(...query),
  );
}

/** POST of a file: 200 with what it changed. */
export function Applies(summary: string, view: Type, { query }: { readonly query: readonly string[] }): MethodDecorator {
  return operation(summary, [...WITH_BODY, 409], ApiOkResponse({ type: view, description: 'Done.' }), KnowsQuery(...query), changeReason());
}

/** PUT or PATCH with If-Match: 200 with the new ETag. */
export function Writes(
  summary: string,
  view: Type,
  { nameMayBeTaken = false, query = [] }: KnownQuery & { readonly nameMayBeTaken?: boolean } = {},
): MethodDecorator {
  return operation(
    summary,
    [...WITH_BODY, 404, 412, 428, ...(nameMayBeTaken ? [409 as const] : [])],
    ApiOkResponse({ type: view, description: 'Changed.', headers: ETAG }),
    KnowsQuery(...query),
    ifMatch(),
    changeReason(),
  );
}

/** PUT that creates what is not there: 201 without If-Match, and 200 with it. */
export function CreatesOrWrites(summary: string, view: Type): MethodDecorator {
  return operation(
    summary,
    [...WITH_BODY, 404, 409, 412, 428],
    ApiCreatedResponse({ type: view, description: 'Created.', headers: { ...LOCATION, ...ETAG } }),
    ApiOkResponse({ type: view, description: 'Changed.', headers: ETAG }),
    ifMatch({ required: false }),
    changeReason(),
  );
}

/** PATCH by a JSON merge patch, with If-Match: 200 with the new ETag. */
export function Patches(
  summary: string,
  view: Type,
  patch: Type,
  options: KnownQuery & { readonly nameMayBeTaken?: boolean } = {},
): MethodDecorator {
  return applyDecorators(
    ApiConsumes(MERGE_PATCH_CONTENT_TYPE, 'application/json'),
    ApiBody({ type: patch, required: true, description: 'A list is replaced as a whole. null brings the default back.' }),
    Writes(summary, view, options),
  );
}

/** DELETE with If-Match: 204. */
export function Deletes(summary: string, { mayBeInUse = false } = {}): MethodDecorator {
  return operation(
    summary,
    [400, 404, 412, 428, ...(mayBeInUse ? [409 as const] : [])],
    ApiNoContentResponse({ description: 'Deleted.' }),
    ifMatch(),
    changeReason(),
  );
}

/** DELETE of what is never edited: 204. */
export function DeletesAny(summary: string): MethodDecorator {
  return operation(summary, [404], ApiNoContentResponse({ description: 'Deleted.' }), changeReason());
}

function takesIdempotencyKey(): MethodDecorator {
  return applyDecorators(
    UseInterceptors(IdempotencyInterceptor),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description:
        'A new one for each new request. If the request is repeated with it within a day, it is not carried out again, and its answer is repeated.',
      schema: { type: 'string', minLength: 1, maxLength: 128, example: '9f1c3b1e-6c1d-4d0e-9c55-6f0f3c1f7a10' },
    }),
  );
}

function changeReason() {
  return ApiHeader({
    name: 'X-Change-Reason',
    required: false,
    description: 'Why the change is made. The history keeps it.',
    schema: { type: 'string', maxLength: 500, example: 'ticket OPS-17' },
  });
}

function ifMatch({ required = true } = {}) {
  return ApiHeader({
    name: 'If-Match',
    required,
    description:
      'The ETag that was read. Several, separated by commas, allow any of these versions; * allows whatever version is there. ' +
      (required ? 'Without the header the answer is 428.' : 'Without the header it is created, and if it is there the answer is 428.'),
    schema: { type: 'string', example: '"3"' },
  });
}

function operation(summary: string, problems: readonly ProblemStatus[], ...decorators: MethodDecorator[]): MethodDecorator {
  return operationBy(TOKEN_SCHEME, summary, problems, ...decorators);
}

function operationBy(
  scheme: string,
  summary: string,
  problems: readonly ProblemStatus[],
  ...decorators: MethodDecorator[]
): MethodDecorator {
  const statuses = [...new Set([...ALWAYS, ...problems])].sort((a, b) => a - b);
  return applyDecorators(
    ApiOperation({ summary }),
    ApiBearerAuth(scheme),
    ApiExtraModels(ProblemSchema),
    ...decorators,
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
