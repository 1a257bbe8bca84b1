import { type CanActivate, createParamDecorator, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { type FastifyRequest } from 'fastify';
import { BearerToken, type ProblemError, PUBLIC_ROUTE } from '#platform';
import { type Actor } from '#rules-db';
import { changeReason } from '../http/change-reason.js';

/** The administrator's token, for injection. */
export const ADMIN_TOKEN = Symbol('admin token');

/** Whoever has the token of the configuration. */
const ADMIN = 'admin';

/** Lets only the administrator pass, on every route that is not marked @Public. */
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
 * The same before the body is read, so that strangers cannot make this process parse anything. The guard decides all the same: it goes by
 * the handler, and this by the pattern of its route.
 */
export function refusalBeforeBody(adminToken: string): (request: FastifyRequest) => ProblemError | undefined {
  const token = new BearerToken(adminToken);
  return ({ routeOptions, headers }) => (routeOptions.url?.startsWith('/v1/') ? token.refusal(headers.authorization) : undefined);
}

/** Who makes the request, for the audit. */
export const By = createParamDecorator((_: unknown, context: ExecutionContext): Actor => {
  const { id, headers } = context.switchToHttp().getRequest<FastifyRequest>();
  const reason = changeReason(headers['x-change-reason']);
  return { name: ADMIN, requestId: id, ...(reason !== undefined && { reason }) };
});
