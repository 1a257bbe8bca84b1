import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiBearerAuth,
  ApiBody,
  ApiConsumes,
  ApiCreatedResponse,
  ApiExtraModels,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import { MERGE_PATCH_CONTENT_TYPE } from '#platform';
import { TakesMinutes } from '../http/idempotency.interceptor.js';
import { KnowsQuery } from '../http/known-query.guard.js';
import { changeReason, ETAG, ifMatch, LOCATION, takesIdempotencyKey } from './operation-headers.js';
import { problemResponses, type ProblemStatus, WITH_BODY } from './problem-responses.js';

/** Each decorator describes one kind of operation, so that the document says the same of all of its kind. */

/** The security schemes of the document. */
export const TOKEN_SCHEME = 'bearer';
export const MERCHANT_KEY_SCHEME = 'merchantKey';

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
  { belowSomething = false, query = [] }: BelowSomething & KnownQuery = {},
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
  return action(summary, ApiOkResponse({ type: view, description: 'Done.' }));
}

/** POST that does something with several things that are there, each by itself: 200, or 207 if it did not succeed with all of them. */
export function DoesEach(summary: string, view: Type): MethodDecorator {
  const some = ApiResponse({ status: 207, type: view, description: 'Done in part: the answer says where it failed, and why.' });
  return applyDecorators(Does(summary, view), some);
}

/** PUT of what may be changed unread, in an emergency: 200 with the new ETag, with If-Match or without. */
export function WritesAny(summary: string, view: Type): MethodDecorator {
  return operation(
    summary,
    [...WITH_BODY, 404, 409, 412],
    ApiOkResponse({ type: view, description: 'Changed.', headers: ETAG }),
    ifMatch('Without the header whatever version is there is changed.'),
    changeReason(),
  );
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
  return action(summary, ApiAcceptedResponse({ type: view, description: 'Begun.' }));
}

function action(summary: string, answer: MethodDecorator): MethodDecorator {
  return operation(summary, [...WITH_BODY, 404, 409, 422], answer, takesIdempotencyKey(), changeReason());
}

/** POST that decides about what waits: 200. */
export function Decides(summary: string, view: Type): MethodDecorator {
  return operation(
    summary,
    [...WITH_BODY, 404, 409, 422],
    ApiOkResponse({ type: view, description: 'Done.' }),
    takesIdempotencyKey(),
    changeReason(),
  );
}

/** POST that asks and changes nothing: 200. */
export function Answers(summary: string, view: Type): MethodDecorator {
  return operation(summary, [...WITH_BODY, 404], ApiOkResponse({ type: view, description: 'The answer.' }));
}

/** The same, where the answer takes a while: with application/x-ndjson in Accept it says meanwhile how far it has come. It can be had as a picture, too. */
export function AnswersInSteps(
  summary: string,
  view: Type,
  { query, picture }: { readonly query: readonly string[]; readonly picture: string },
): MethodDecorator {
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
      content: {
        'application/json': { schema: { $ref: getSchemaPath(view) } },
        'application/x-ndjson': { schema: line },
        [picture]: { schema: { type: 'string' } },
      },
    }),
    KnowsQuery(...query),
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
  return operation(
    summary,
    [...WITH_BODY, 409, 422],
    ApiOkResponse({ type: view, description: 'Done.' }),
    KnowsQuery(...query),
    takesIdempotencyKey(),
    TakesMinutes(),
    changeReason(),
  );
}

/** POST with If-Match that brings back a former version: 200 with the new ETag. */
export function Reverts(summary: string, view: Type, options: KnownQuery & { readonly nameMayBeTaken?: boolean } = {}): MethodDecorator {
  return applyDecorators(Writes(summary, view, options), takesIdempotencyKey(), problemResponses([409, 422]));
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
    ifMatch('Without the header it is created, and if it is there the answer is 428.'),
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

function operation(summary: string, problems: readonly ProblemStatus[], ...decorators: MethodDecorator[]): MethodDecorator {
  return operationBy(TOKEN_SCHEME, summary, problems, ...decorators);
}

function operationBy(
  scheme: string,
  summary: string,
  problems: readonly ProblemStatus[],
  ...decorators: MethodDecorator[]
): MethodDecorator {
  return applyDecorators(ApiOperation({ summary }), ApiBearerAuth(scheme), ...decorators, problemResponses(problems));
}
