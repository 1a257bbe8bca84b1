import { type CanActivate, createParamDecorator, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { type FastifyRequest } from 'fastify';
import { createHash, timingSafeEqual } from 'node:crypto';
import { ProblemError, PUBLIC_ROUTE } from '#platform';
import { type Actor } from '#rules-db';

/** The administrator's token, for injection. */
export const ADMIN_TOKEN = Symbol('admin token');

/** Whoever has the token of the configuration. */
const ADMIN = 'admin';

/** Lets only the administrator pass, on every route that is not marked @Public. */
@Injectable()
export class BearerTokenGuard implements CanActivate {
  private readonly digest: Buffer;

  constructor(
    @Inject(ADMIN_TOKEN) token: string,
    @Inject(Reflector) private readonly reflector: Reflector,
  ) {
    this.digest = sha256(token);
  }

  canActivate(context: ExecutionContext): boolean {
    if (this.reflector.getAllAndOverride<boolean | undefined>(PUBLIC_ROUTE, [context.getHandler(), context.getClass()])) return true;
    const { authorization } = context.switchToHttp().getRequest<FastifyRequest>().headers;
    if (authorization === undefined) throw unauthorized('send the header Authorization: Bearer TOKEN');
    const [, token] = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization) ?? [];
    // Digests have one length, and comparing them takes one time: nothing tells how much of a guess was right.
    if (token === undefined || !timingSafeEqual(sha256(token), this.digest)) throw unauthorized('this is not a valid token', 'invalid_token');
    return true;
  }
}

/** Who makes the request, for the audit. */
export const By = createParamDecorator((_: unknown, context: ExecutionContext): Actor => {
  return { name: ADMIN, requestId: context.switchToHttp().getRequest<FastifyRequest>().id };
});

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function unauthorized(detail: string, error?: string): ProblemError {
  const challenge = `Bearer realm="tollgate"${error === undefined ? '' : `, error="${error}"`}`;
  return new ProblemError({ status: 401, detail, headers: { 'www-authenticate': challenge } });
}
