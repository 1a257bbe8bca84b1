import {
  type CallHandler,
  type CustomDecorator,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
  SetMetadata,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import { catchError, concatMap, type Observable, of } from 'rxjs';
import { type Logger, ProblemError, type ProblemFields, toProblem } from '#platform';
import { IdempotencyKeyRepository, type IdempotentRequest, type UsedKey } from '#rules-db';
import { principalOf } from '../auth/principal.js';
import { type KeptAnswer, PackedAnswer } from './packed-answer.js';
import { asProblem } from './rules-api-exception.filter.js';

export const IDEMPOTENCY_LOGGER = Symbol('logger of the idempotency interceptor');

const SHOWN_ONCE = 'rules-api:shown-once';

/** Of a handler whose answer holds a secret, which is stored nowhere. */
export const ShownOnce = (): CustomDecorator => SetMetadata(SHOWN_ONCE, true);

const TAKES_MINUTES = 'rules-api:takes-minutes';

/** Of a handler that may be at it much longer than others. */
export const TakesMinutes = (): CustomDecorator => SetMetadata(TAKES_MINUTES, true);

const MAX_KEY_LENGTH = 128;
const KEY_FORM = /^[\x21-\x7e]{1,128}$/;

/** The headers that belong to an answer. */
const HEADERS = ['location', 'etag'] as const;

interface RepeatableAnswer {
  readonly headers: Readonly<Partial<Record<string, string>>>;
  readonly body?: unknown;
  /** In place of the body. */
  readonly packed?: KeptAnswer;
  /** It was too long to be kept. */
  readonly isTooLong?: true;
}

/** Statuses of refusals that say nothing about the request itself, or that end by themselves. */
const PASSING = [401, 403, 429];

/**
 * Carries out a request with an Idempotency-Key once: if it is repeated within a day, the first answer is repeated, also a refusal. A
 * failure is not kept, and a repeated request is then carried out again.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(
    @Inject(IdempotencyKeyRepository) private readonly keys: IdempotencyKeyRepository,
    @Inject(Reflector) private readonly reflector: Reflector,
    @Inject(IDEMPOTENCY_LOGGER) private readonly logger: Logger,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    const key = request.headers['idempotency-key'];
    if (key === undefined) return next.handle();
    const has = (name: string) => this.reflector.get<boolean | undefined>(name, context.getHandler()) ?? false;
    const idempotent = { ...requestOf(request, String(key)), isLong: has(TAKES_MINUTES) };
    const used = await this.keys.claim(idempotent);
    if (used !== null) return of(repeated(used, idempotent, reply));
    return next.handle().pipe(
      concatMap(async (body: unknown) => {
        await this.settle(idempotent, reply.statusCode, has(SHOWN_ONCE) ? null : JSON.stringify(repeatable(reply, body)));
        return body;
      }),
      catchError(async (error: unknown) => {
        const problem = toProblem(asProblem(error) ?? error, request);
        const isFinal = problem.status < 500 && !PASSING.includes(problem.status);
        await this.settle(idempotent, problem.status, isFinal ? JSON.stringify(fieldsOf(problem)) : undefined);
        throw error;
      }),
    );
  }

  /** The change is done, or refused: if the key cannot be written, the caller still gets the answer. @param answer nothing: the key is freed */
  private async settle(request: IdempotentRequest, status: number, answer: string | null | undefined): Promise<void> {
    try {
      await (answer === undefined ? this.keys.release(request) : this.keys.settle(request, status, answer));
    } catch (err) {
      this.logger.warn({ err }, 'the answer to a request with an Idempotency-Key could not be kept');
    }
  }
}

function repeatable(reply: FastifyReply, body: unknown): RepeatableAnswer {
  const headers = Object.fromEntries(HEADERS.map((name) => [name, reply.getHeader(name) as string | undefined]));
  if (!(body instanceof PackedAnswer)) return { headers, body };
  const packed = body.kept();
  return packed === undefined ? { headers, isTooLong: true } : { headers, packed };
}

function requestOf(request: FastifyRequest, key: string): IdempotentRequest {
  if (!KEY_FORM.test(key)) {
    const detail = `Idempotency-Key must be 1 to ${MAX_KEY_LENGTH} visible ASCII characters`;
    throw new ProblemError({ status: 400, code: 'header.idempotency_key.malformed', detail });
  }
  const requestHash = createHash('sha256')
    .update(JSON.stringify([request.method, request.url, request.body ?? null]))
    .digest();
  return { bearer: principalOf(request)!.name, key, requestHash };
}

/** The answer to a request whose key was used before. @throws ProblemError */
function repeated({ requestHash, status, answer }: UsedKey, request: IdempotentRequest, reply: FastifyReply): unknown {
  if (!requestHash.equals(request.requestHash)) {
    const detail = 'this Idempotency-Key was sent with another request within a day; take a new one for each new request';
    throw new ProblemError({ status: 422, code: 'idempotency_key.reused', detail });
  }
  if (status === null) {
    const detail = 'the first request with this Idempotency-Key is still being answered; repeat it a little later';
    throw new ProblemError({ status: 409, code: 'idempotency_key.in_progress', detail, headers: { 'retry-after': '1' } });
  }
  if (answer === null) {
    const detail =
      'this was done already, and its answer held a secret that is shown once and stored nowhere; delete what was made and make another, or rotate it again';
    throw new ProblemError({ status: 409, code: 'idempotency_key.shown_once', detail });
  }
  if (status >= 400) throw new ProblemError(JSON.parse(answer) as ProblemFields);
  const { headers, body, packed, isTooLong } = JSON.parse(answer) as RepeatableAnswer;
  if (isTooLong) {
    const detail =
      'this was done already, and its answer was too long to be kept; with a new key and dryRun=true the answer says what is left to do';
    throw new ProblemError({ status: 409, code: 'idempotency_key.answer_too_long', detail });
  }
  void reply.status(status).headers(headers);
  return packed === undefined ? body : PackedAnswer.again(packed);
}

function fieldsOf({
  status,
  type,
  code,
  title,
  detail,
  errors,
  extensions,
  headers,
}: ProblemError): ProblemFields & Pick<ProblemError, 'headers'> {
  return { status, type, code, title, detail, headers, ...(errors && { errors }), ...(extensions && { extensions }) };
}
