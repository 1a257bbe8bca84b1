import { type CanActivate, createParamDecorator, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { type FastifyRequest } from 'fastify';
import { BearerToken, type ProblemError, PUBLIC_ROUTE } from '#platform';
import { type Actor } from '#rules-db';

/** The injection token of the administrator's bearer token. */
export const ADMIN_TOKEN = Symbol('admin token');

/** The name in the audit of a caller with the token of the configuration. */
const ADMIN = 'admin';

/** Requires the administrator's token on every route that is not marked @Public. */
@Injectable()
export class BearerTokenGuard implements CanActivate {
  private readonly token: BearerToken;

  constructor(
    @Inject(ADMIN_TOKEN) token: string,
    @Inject(Reflector) private readonly reflector: Reflector,
  ) {
    this.token = new BearerToken(token);
  }

  canActivate(context: ExecutionContext): boolean {
    if (this.reflector.getAllAndOverride<boolean | undefined>(PUBLIC_ROUTE, [context.getHandler(), context.getClass()])) return true;
    const refusal = this.token.refusal(context.switchToHttp().getRequest<FastifyRequest>().headers.authorization);
    if (refusal) throw refusal;
    return true;
  }
}

/**
 * Requires the token before the body is read, so that a stranger cannot make this process parse anything. It knows only the pattern of
 * the route; the guard, which knows the handler, decides again.
 */
export function refusalBeforeBody(adminToken: string): (request: FastifyRequest) => ProblemError | undefined {
  const token = new BearerToken(adminToken);
  return ({ routeOptions, headers }) => (routeOptions.url?.startsWith('/v1/') ? token.refusal(headers.authorization) : undefined);
}

/** A handler's parameter: who makes the request, for the audit. */
export const By = createParamDecorator((_: unknown, context: ExecutionContext): Actor => {
  return { name: ADMIN, requestId: context.switchToHttp().getRequest<FastifyRequest>().id };
});
