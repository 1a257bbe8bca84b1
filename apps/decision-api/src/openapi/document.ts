import { type Fields, type JsonSchema, objectSchema } from '#limiter';
import { CHECK_FIELDS, WAIT_FIELDS } from '../decisions/check-fields.js';
import { BATCH_FIELDS } from '../http/batch-call.js';
import { REFUND_FIELDS, SETTLEMENT_FIELDS } from '../http/claim-calls.js';
import { ANSWER_SCHEMAS } from './answer-schemas.js';
import * as EXAMPLES from './examples.js';

/** Statuses of calls that are wrong, or come at a wrong time; whatever is called may have them. */
const PROBLEMS: Readonly<Record<string, string>> = {
  400: 'The call is wrong, or its path is read by servers in different ways.',
  401: 'Nobody who may ask has said who it is.',
  403: 'Whoever asks may not.',
  404: 'There is no such call.',
  405: 'It is made by another method.',
  413: 'The body is too large.',
  415: 'The body is not application/json.',
  429: 'The caller asks for more decisions a second than it may.',
  500: 'The call failed.',
  503: 'Too many calls are under way, or what is asked for is not available.',
};

interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly request?: { readonly schema: JsonSchema; readonly example: unknown };
  readonly parameters?: readonly object[];
  /** What 200 answers. Undefined: no body. */
  readonly answer?: { readonly schema: string; readonly example: unknown };
  /** Statuses that answer something else than is said of all calls. */
  readonly others?: Readonly<Record<string, object>>;
}

const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
const json = (schema: JsonSchema, example: unknown, type = 'application/json') => ({ [type]: { schema, example } });
const body = (fields: Fields, example: unknown) => ({ schema: objectSchema(fields), example });
const REFUSAL = {
  description: 'The refusal of a gateway, or the caller asks for more decisions a second than it may.',
  content: json(ref('Problem'), EXAMPLES.REFUSAL, 'application/problem+json'),
};

const header = (name: string, description: string, required = false) => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string' },
});

const AS_STATUS = {
  name: 'asStatus',
  in: 'query',
  description: 'true: a refusal has the status, the headers and the body of a gateway.',
  schema: { type: 'boolean', default: false },
};

/** What Envoy sends; readers of protobuf pass over what they do not know. */
const RATE_LIMIT_REQUEST: JsonSchema = {
  type: 'object',
  properties: {
    domain: { type: 'string', minLength: 1, maxLength: 8192, description: 'The domain.' },
    descriptors: {
      type: 'array',
      minItems: 1,
      maxItems: 64,
      items: {
        type: 'object',
        properties: {
          entries: {
            type: 'array',
            minItems: 1,
            maxItems: 32,
            items: { type: 'object', properties: { key: { type: 'string', minLength: 1 }, value: { type: 'string' } }, required: ['key'] },
          },
          hitsAddend: {
            type: 'integer',
            minimum: 0,
            maximum: 1_000_000_000,
            description: 'For how many requests it asks; 0 takes nothing.',
          },
        },
        required: ['entries'],
      },
    },
    hitsAddend: { type: 'integer', minimum: 0, maximum: 1_000_000_000, description: 'For how many requests the call asks; 0 is 1.' },
  },
  required: ['domain', 'descriptors'],
};

const OPERATIONS: Readonly<Record<string, Operation>> = {
  '/v1/check': {
    id: 'check',
    summary: 'Decides about a request, and takes what it costs',
    description: 'The answer is 200 whatever the verdict, unless asStatus is true.',
    parameters: [AS_STATUS],
    request: body(CHECK_FIELDS, EXAMPLES.CHECK),
    answer: { schema: 'Decision', example: EXAMPLES.DECISION },
    others: { 429: REFUSAL },
  },
  '/v1/check/batch': {
    id: 'checkSeveral',
    summary: 'Decides about up to 100 requests, all or nothing or each for itself',
    request: body(BATCH_FIELDS, EXAMPLES.BATCH),
    answer: { schema: 'BatchDecision', example: EXAMPLES.BATCH_DECISION },
  },
  '/v1/wait': {
    id: 'wait',
    summary: 'Answers when a request passes, or at once if it will not in time',
    request: body(WAIT_FIELDS, EXAMPLES.WAIT),
    answer: { schema: 'Decision', example: EXAMPLES.DECISION },
  },
  '/v1/refund': {
    id: 'refund',
    summary: 'Gives back what a decision took, as if the request had never come',
    request: body(REFUND_FIELDS, EXAMPLES.REFUND),
    answer: { schema: 'ClaimOutcome', example: EXAMPLES.REFUNDED },
  },
  '/v1/settle': {
    id: 'settle',
    summary: 'Says how the request of a decision ended',
    request: body(SETTLEMENT_FIELDS, EXAMPLES.SETTLEMENT),
    answer: { schema: 'ClaimOutcome', example: EXAMPLES.SETTLED },
  },
  '/v1/forward-auth': {
    id: 'forwardAuth',
    summary: 'Answers the sub-request of a proxy',
    description:
      'By any method, and from proxies in TRUSTED_PROXIES only. 200 without a body, or the refusal of a gateway. One of each kind of header has to be there.',
    parameters: [
      header('X-Merchant-Id', 'The merchant that makes the request.', true),
      header('X-User-Id', 'Its user.'),
      header('X-Forwarded-Method', 'The method of the request; also X-Original-Method.'),
      header('X-Forwarded-Uri', 'Its path and query; also X-Original-URI and X-Original-URL.'),
      header('X-Forwarded-For', 'The client.'),
      header('X-Forwarded-Host', 'The host.'),
    ],
    others: { 429: REFUSAL },
  },
  '/v1/ext-authz/{path}': {
    id: 'extAuthz',
    summary: 'Answers ext_authz of Envoy by HTTP',
    description:
      'By any method, that of the request, and from proxies in TRUSTED_PROXIES only; the path and query of the request, slashes and all, stand behind the prefix. A JSON body of at most 64 KiB that comes along is that of the request. 200 without a body, or the refusal of a gateway.',
    parameters: [
      { name: 'path', in: 'path', required: true, description: 'The path of the request.', schema: { type: 'string' } },
      header('X-Merchant-Id', 'The merchant that makes the request.', true),
      header('X-User-Id', 'Its user.'),
      header('X-Forwarded-For', 'The client.'),
    ],
    others: { 429: REFUSAL },
  },
  '/json': {
    id: 'shouldRateLimit',
    summary: 'What Envoy asks, as envoyproxy/ratelimit has it in JSON',
    request: { schema: RATE_LIMIT_REQUEST, example: EXAMPLES.RATE_LIMIT },
    answer: { schema: 'RateLimitAnswer', example: EXAMPLES.RATE_LIMIT_ANSWER },
    others: {
      429: {
        description: 'A descriptor is over its limit; or as a problem, the caller asks for more decisions a second than it may.',
        content: {
          ...json(ref('RateLimitAnswer'), EXAMPLES.RATE_LIMIT_REFUSAL),
          'application/problem+json': { schema: ref('Problem') },
        },
      },
    },
  },
};

function operation({ id, summary, description, request, parameters, answer, others = {} }: Operation): object {
  const problems = Object.entries(PROBLEMS).map(([status, says]) => [
    status,
    { description: says, content: { 'application/problem+json': { schema: ref('Problem') } } },
  ]);
  return {
    operationId: id,
    summary,
    ...(description !== undefined && { description }),
    ...(parameters && { parameters }),
    ...(request && { requestBody: { required: true, content: json(request.schema, request.example) } }),
    responses: {
      200: answer ? { description: 'The answer.', content: json(ref(answer.schema), answer.example) } : { description: 'It passes.' },
      ...(Object.fromEntries(problems) as object),
      ...others,
    },
  };
}

/** All calls by HTTP, made from the tables of fields by which bodies are checked. */
export function openApiDocument(): JsonSchema {
  const calls = Object.entries(OPERATIONS).map(([path, each]) => [path, { post: operation(each) }]);
  return {
    openapi: '3.1.0',
    info: { title: 'Tollgate decision API', version: '1', description: 'Whether a request may pass, for those who keep their own proxy.' },
    servers: [{ url: 'http://127.0.0.1:8090' }],
    security: [{ token: [] }, { proxyToken: [] }, { certificate: [] }],
    paths: Object.fromEntries(calls) as object,
    components: {
      schemas: ANSWER_SCHEMAS,
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        proxyToken: { type: 'apiKey', in: 'header', name: 'X-Tollgate-Token' },
        certificate: { type: 'mutualTLS' },
      },
    },
  };
}
