import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { type FastifyRequest } from 'fastify';
import { ProblemError, PUBLIC_ROUTE, unauthorized } from '#platform';
import { ROLES } from '#rules-db';
import { ACCESS, type Access } from './access.js';
import { type Principal, principalOf } from './principal.js';

/** Lets a request pass whose token has the role that the handler asks for, and is not limited to other merchants. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(@Inject(Reflector) private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    if (this.reflector.getAllAndOverride<boolean | undefined>(PUBLIC_ROUTE, [context.getHandler(), context.getClass()])) return true;
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const principal = principalOf(request);
    if (principal === undefined) throw unauthorized('send the header Authorization: Bearer TOKEN');
    const access = this.reflector.get<Access | undefined>(ACCESS, context.getHandler());
    const refusal =
      access === undefined ? 'nobody may do this' : refusalOf(access, principal, (request.params as { merchantId?: string }).merchantId);
    if (refusal !== undefined) throw new ProblemError({ status: 403, detail: refusal });
    return true;
  }
}

/** Why the bearer may not do it; nothing if it may. */
export function refusalOf({ role, limited }: Access, principal: Principal, merchantId: string | undefined): string | undefined {
  if (ROLES.indexOf(principal.role) < ROLES.indexOf(role))
    return `this needs a token with the role ${role}, and yours is ${principal.role}`;
  if (principal.merchants === null || limited === 'anything' || limited === 'filtered') return undefined;
  if (limited === 'merchant' && merchantId !== undefined && principal.merchants.includes(merchantId)) return undefined;
  return limited === 'merchant'
    ? 'your token is limited to other merchants'
    : 'your token is limited to merchants, and this concerns others as well';
}
