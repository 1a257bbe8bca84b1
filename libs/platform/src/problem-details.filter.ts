import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from './logger.js';
import { PROBLEM_CONTENT_TYPE, problemBody, ProblemError } from './problem.js';

/** What Fastify refuses before a handler sees it, in words for the caller. */
const NOT_JSON = { code: 'body.malformed', detail: 'the body is not valid JSON' };
const FASTIFY_PROBLEMS: Readonly<Record<string, Pick<ProblemError, 'code' | 'detail'>>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: { code: 'body.wrong_media_type', detail: 'expected a body of content type application/json' },
  FST_ERR_CTP_BODY_TOO_LARGE: { code: 'body.too_large', detail: 'the body is larger than this server accepts' },
  FST_ERR_CTP_EMPTY_JSON_BODY: { code: 'body.missing', detail: 'expected a JSON body, got an empty one' },
  FST_ERR_CTP_INVALID_JSON_BODY: NOT_JSON,
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: { code: 'body.wrong_length', detail: 'the body is not as long as Content-Length says' },
};

/** Answers every error as problem details (RFC 9457). What nobody expected is a 500 without internals, and a log line. */
@Catch()
export class ProblemDetailsFilter implements ExceptionFilter {
  constructor(private readonly logger: Logger) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const problem = toProblem(exception, request);
    if (problem.status >= 500) {
      this.logger.error({ requestId: request.id, method: request.method, status: problem.status, err: exception }, 'request failed');
    }
    if (reply.sent) return;
    void reply
      .status(problem.status)
      .headers(problem.headers)
      .header('content-type', PROBLEM_CONTENT_TYPE)
      .send(problemBytes(problem, request));
  }
}

/** A body as bytes: to text Fastify would add a charset, which this media type does not have. */
export function problemBytes(problem: ProblemError, request: Pick<FastifyRequest, 'url'>): Buffer {
  return Buffer.from(JSON.stringify(problemBody(problem, pathOf(request.url))));
}

/** The problem that an exception stands for. */
export function toProblem(exception: unknown, request: Pick<FastifyRequest, 'method' | 'url'>): ProblemError {
  if (exception instanceof ProblemError) return exception;
  const status = statusOf(exception);
  if (status === undefined || status >= 500) {
    return new ProblemError({ status: status ?? 500, detail: 'the server could not answer; its log tells more under the request id' });
  }
  return new ProblemError({ status, ...refusalOf(exception as Error, status, request) });
}

/** The status of Nest's and Fastify's own exceptions; nothing for anything else. */
function statusOf(exception: unknown): number | undefined {
  if (exception instanceof HttpException) return exception.getStatus();
  const { statusCode } = exception instanceof Error ? (exception as { statusCode?: unknown }) : {};
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode <= 599 ? statusCode : undefined;
}

function refusalOf(exception: Error, status: number, request: Pick<FastifyRequest, 'method' | 'url'>): { code?: string; detail: string } {
  const cause = exception.cause ?? exception;
  const { code } = cause as { code?: unknown };
  if (typeof code === 'string' && FASTIFY_PROBLEMS[code] !== undefined) return FASTIFY_PROBLEMS[code];
  if (cause instanceof SyntaxError) return NOT_JSON;
  if (status === 404 && exception.message.startsWith('Cannot '))
    return { code: 'route.not_found', detail: `there is no ${request.method} ${pathOf(request.url)}` };
  return { detail: exception.message };
}

/** The path of a request target: no query, for it may carry secrets. */
function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}
