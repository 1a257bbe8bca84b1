import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Socket } from 'node:net';
import type { Registry } from 'prom-client';
import { requestMetrics } from './http-metrics.js';
import { type Logger, NestLogger } from './logger.js';
import { demandKnownVersion } from './http-version.js';
import { jsonText } from './json-body.js';
import { repeatedName } from './json-names.js';
import { PROBLEM_CONTENT_TYPE, problemBody, ProblemError } from './problem.js';
import { problemBytes, ProblemDetailsFilter, toProblem } from './problem-details.filter.js';
import { PAGE_CONTENT_SECURITY_POLICY, SAFE_HEADERS } from './response-headers.js';
import { REQUEST_ID_HEADER, requestContext, requestIdFrom } from './request-context.js';

export interface HttpAppOptions {
  readonly logger: Logger;
  /** Where requests are counted. */
  readonly registry: Registry;
  /** The filter that answers errors; a ProblemDetailsFilter unless given. */
  readonly filter?: ProblemDetailsFilter;
  /**
   * Whether every log line that a request causes carries its id; true unless given. This costs the whole process a tenth of its
   * time from the first request on. The gateway goes without, because this app serves only its management port.
   */
  readonly requestIdInLogs?: boolean;
  /** Larger bodies are refused with 413; 64 KiB unless given. */
  readonly bodyLimitBytes?: number;
  /** Routes, by their paths, whose bodies may be larger than others, or of further content types. */
  readonly bodies?: Readonly<Record<string, RouteBodies>>;
  /** Called before the body of a request is read. Returns the problem with which the request is refused, if it is. */
  readonly refusal?: ((request: FastifyRequest) => ProblemError | undefined | Promise<ProblemError | undefined>) | undefined;
  /** Routes with this prefix serve pages for browsers, with their own scripts and styles. */
  readonly pages?: string;
}

/** The bodies of one route. */
export interface RouteBodies {
  readonly limitBytes: number;
  /** By content type; one for application/json takes the place of the usual one, and gets the bytes. A parser throws a ProblemError for what it cannot read. */
  readonly parsers?: Readonly<Record<string, (body: Buffer) => unknown>>;
}

/** The methods of our routes. Every other method is refused, TRACE because it would echo secrets. */
const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** JSON merge patch, RFC 7396. */
export const MERGE_PATCH_CONTENT_TYPE = 'application/merge-patch+json';

/** Enough for a merchant id of 128 characters, percent-encoded, in one path segment. */
const MAX_PATH_PARAMETER_LENGTH = 2_048;

/**
 * A Nest app on Fastify with what all apps of Tollgate share: problem details for every error, JSON bodies only, a request id
 * in each log line and answer, and requests counted by route. The caller makes it listen.
 */
export async function createHttpApp(
  module: Parameters<typeof NestFactory.create>[0],
  {
    logger,
    registry,
    filter = new ProblemDetailsFilter(logger),
    requestIdInLogs = true,
    bodyLimitBytes = 65_536,
    bodies = {},
    refusal,
    pages,
  }: HttpAppOptions,
): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({
    logger: false,
    bodyLimit: bodyLimitBytes,
    requestTimeout: 30_000,
    // A request that arrives on an open connection during shutdown is still answered, with Connection: close.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestIdHeader: false,
    genReqId: (request: { headers: Record<string, string | string[] | undefined> }) => requestIdFrom(request.headers[REQUEST_ID_HEADER]),
    routerOptions: { maxParamLength: MAX_PATH_PARAMETER_LENGTH },
    frameworkErrors: refuseTarget,
    clientErrorHandler: refuseConnection,
  });
  const fastify = adapter.getInstance() as unknown as FastifyInstance;
  fastify.removeContentTypeParser('text/plain');
  parseJson(fastify, bodies);
  // Some clients send a content type or a body with every request. To a deletion neither means anything.
  fastify.addHttpMethod('DELETE', { hasBody: false, overrideExisting: true });
  admitBodies(fastify, bodies);
  addRequestHooks(fastify, logger, registry);
  addSafeHeaders(fastify, pages);
  refuseEarly(fastify, refusal);
  if (requestIdInLogs) addLogContext(fastify);
  closeConnectionsWhenClosing(fastify);
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    logger: new NestLogger(logger),
    bodyParser: false,
    abortOnError: false,
  });
  app.useGlobalFilters(filter);
  return app;
}

function addRequestHooks(fastify: FastifyInstance, logger: Logger, registry: Registry): void {
  const observe = requestMetrics(registry);
  // Nothing of what it logs comes from outside unchecked. To look for secrets in it takes ten times as long as to write it.
  const requests = logger.child({}, { redact: [] });
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.header(REQUEST_ID_HEADER, request.id);
    done();
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    observe({ method: request.method, route, status: reply.statusCode, seconds: reply.elapsedTime / 1_000 });
    const write = request.method === 'GET' || request.method === 'HEAD' ? 'debug' : 'info';
    requests[write](
      { requestId: request.id, method: request.method, route, status: reply.statusCode, durationMs: Math.round(reply.elapsedTime) },
      'request',
    );
    done();
  });
}

const JSON_TYPE = 'application/json';

function parseJson(fastify: FastifyInstance, bodies: Readonly<Record<string, RouteBodies>>): void {
  const parse = fastify.getDefaultJsonParser('error', 'error');
  fastify.removeContentTypeParser(JSON_TYPE);
  fastify.addContentTypeParser([JSON_TYPE, MERGE_PATCH_CONTENT_TYPE], { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    try {
      refuseMisplacedPatch(request);
      const ofRoute = bodies[request.routeOptions.url ?? '']?.parsers?.[JSON_TYPE];
      if (ofRoute) done(null, ofRoute(body));
      else {
        const text = jsonText(body);
        void parse(request, text, (error, value) => done(error ?? repeatedName(text) ?? null, value));
      }
    } catch (error) {
      done(error as Error);
    }
  });
}

/** A patch means something to PATCH only. */
function refuseMisplacedPatch({ method, mediaType }: FastifyRequest): void {
  if (method === 'PATCH' || mediaType !== MERGE_PATCH_CONTENT_TYPE) return;
  const detail = `${MERGE_PATCH_CONTENT_TYPE} goes with PATCH only: expected a body of content type application/json`;
  throw new ProblemError({ status: 415, code: 'body.wrong_media_type', detail });
}

/** A parser of Fastify serves all routes: on any other route its content type is as unknown as it was. */
function admitBodies(fastify: FastifyInstance, bodies: Readonly<Record<string, RouteBodies>>): void {
  fastify.addHook('onRoute', (route) => {
    const limit = bodies[route.url]?.limitBytes;
    if (limit !== undefined) route.bodyLimit = limit;
  });
  const types = new Set(Object.values(bodies).flatMap(({ parsers = {} }) => Object.keys(parsers)));
  // JSON has its parser on every route.
  types.delete(JSON_TYPE);
  for (const type of types) {
    fastify.addContentTypeParser(type, { parseAs: 'buffer' }, (request, body: Buffer, done) => {
      const parse = bodies[request.routeOptions.url ?? '']?.parsers?.[type];
      try {
        if (!parse)
          throw new ProblemError({
            status: 415,
            code: 'body.wrong_media_type',
            detail: 'expected a body of content type application/json',
          });
        done(null, parse(body));
      } catch (error) {
        done(error as Error);
      }
    });
  }
}

function addSafeHeaders(fastify: FastifyInstance, pages: string | undefined): void {
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    void reply.headers(SAFE_HEADERS);
    if (pages !== undefined && request.routeOptions.url?.startsWith(pages))
      void reply.header('content-security-policy', PAGE_CONTENT_SECURITY_POLICY);
    done();
  });
}

/** Refuses before the body is read, so that a caller without permission cannot make this process parse anything. */
function refuseEarly(fastify: FastifyInstance, refusal: HttpAppOptions['refusal']): void {
  fastify.addHook('onRequest', async (request) => {
    demandKnownVersion(request.raw);
    const problem = METHODS.includes(request.method) ? await refusal?.(request) : methodNotAllowed(request.method);
    if (problem) throw problem;
  });
}

function methodNotAllowed(method: string): ProblemError {
  return new ProblemError({
    status: 405,
    code: 'route.method_not_allowed',
    detail: `nothing here can be asked by ${method}`,
    headers: { allow: METHODS.join(', ') },
  });
}

function addLogContext(fastify: FastifyInstance): void {
  const inContext = (request: FastifyRequest, _reply: FastifyReply, done: () => void): void =>
    requestContext.run({ requestId: request.id }, done);
  fastify.addHook('onRequest', inContext);
  // After the body is read Fastify continues in the async context of the socket: the id has to be set again.
  fastify.addHook('preValidation', inContext);
}

/** Closes connections with the answers that they get during shutdown; otherwise they would stay open, and the server with them. */
function closeConnectionsWhenClosing(fastify: FastifyInstance): void {
  let closing = false;
  fastify.addHook('preClose', (done) => {
    closing = true;
    done();
  });
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing) void reply.header('connection', 'close');
    done();
  });
}

/** Answers a request whose target the router could not parse. No hook and no filter of Nest sees such a request. */
function refuseTarget(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  const problem = toProblem(error, request);
  void reply
    .status(problem.status)
    .header(REQUEST_ID_HEADER, request.id)
    .headers(SAFE_HEADERS)
    .header('content-type', PROBLEM_CONTENT_TYPE)
    .send(problemBytes(problem, request));
}

const STATUS_OF_PARSER_ERROR: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** Node's parser stops at an unknown method. This tells whether a request followed, or something that is not HTTP. */
function isUnknownMethod({ code, rawPacket }: { code?: string | undefined; rawPacket?: unknown }): boolean {
  return (
    code === 'HPE_INVALID_METHOD' &&
    Buffer.isBuffer(rawPacket) &&
    /^[A-Za-z][A-Za-z-]{0,31} \S{1,2000} HTTP\/1\.[01]\r?\n/.test(rawPacket.toString('latin1', 0, 2_100))
  );
}

/** Answers bytes that Node could not parse as HTTP. There is no request and no reply, only the socket. */
function refuseConnection(error: NodeJS.ErrnoException & { rawPacket?: unknown }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = isUnknownMethod(error) ? 405 : (STATUS_OF_PARSER_ERROR[error.code ?? ''] ?? 400);
  const problem = problemBody({ status, code: 'request.malformed', detail: 'this is not a request that the server understands' });
  const body = JSON.stringify(problem);
  const headers = { ...SAFE_HEADERS, ...(status === 405 && { allow: METHODS.join(', ') }) };
  const lines = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  socket.end(
    `HTTP/1.1 ${status} ${String(problem['title'])}\r\n${lines}Content-Type: ${PROBLEM_CONTENT_TYPE}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
