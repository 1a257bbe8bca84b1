import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
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
    if (principal === undefined) throw unauthorized('token.missing', 'send the header Authorization: Bearer TOKEN');
    const access = this.reflector.get<Access | undefined>(ACCESS, context.getHandler());
    const [code, detail] = (access && refusalOf(access, principal, (request.params as { merchantId?: string }).merchantId)) ?? [];
    if (access === undefined) throw forbidden('token.nobody_may', 'nobody may do this');
    if (code !== undefined) throw forbidden(code, detail!);
    return true;
  }
}

function forbidden(code: string, detail: string): ProblemError {
  return new ProblemError({ status: 403, type: 'forbidden', code, detail });
}

/** Why the bearer may not do it, as code and sentence; nothing if it may. */
export function refusalOf(
  { role, limited }: Access,
  principal: Principal,
  merchantId: string | undefined,
): readonly [code: string, detail: string] | undefined {
  if (ROLES.indexOf(principal.role) < ROLES.indexOf(role)) {
    return ['token.role_too_low', `this needs a token with the role ${role}, and yours is ${principal.role}`];
  }
  if (principal.merchants === null || limited === 'anything' || limited === 'filtered') return undefined;
  if (limited === 'nothing') return ['token.limited', 'your token is limited to merchants, and this concerns others as well'];
  if (merchantId !== undefined && principal.merchants.includes(merchantId)) return undefined;
  return ['token.limited_to_others', 'your token is limited to other merchants'];
}
