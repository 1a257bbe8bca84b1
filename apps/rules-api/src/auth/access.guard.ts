import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { PUBLIC_ROUTE, unauthorized } from '#platform';
import { ROLES } from '#rules-db';
import { ACCESS, type Access, MERCHANT_ITSELF } from './access.js';
import { CONCERNS_OTHERS, forbidden, LIMITED_TO_OTHERS, NO_MERCHANT, OPENS_ONLY_ME, type Refusal } from './forbidden.js';
import { merchantOf, type Principal, principalOf } from './principal.js';

/** Lets a request pass whose token has the role that the handler asks for, and is not limited to other merchants. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(@Inject(Reflector) private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    if (this.reflector.getAllAndOverride<boolean | undefined>(PUBLIC_ROUTE, [context.getHandler(), context.getClass()])) return true;
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const access = this.reflector.get<Access | typeof MERCHANT_ITSELF | undefined>(ACCESS, context.getHandler());
    if (merchantOf(request) !== undefined) {
      if (access !== MERCHANT_ITSELF) throw forbidden(OPENS_ONLY_ME);
      return true;
    }
    const principal = principalOf(request);
    if (principal === undefined) throw unauthorized('token.missing', 'send the header Authorization: Bearer TOKEN');
    if (access === MERCHANT_ITSELF) throw forbidden(NO_MERCHANT);
    const refusal = access ? refusalOf(access, principal, (request.params as { merchantId?: string }).merchantId) : NOBODY_MAY;
    if (refusal !== undefined) throw forbidden(refusal);
    return true;
  }
}

const NOBODY_MAY: Refusal = ['token.nobody_may', 'nobody may do this'];

/** Why the bearer may not do it; nothing if it may. */
export function refusalOf({ role, limited }: Access, principal: Principal, merchantId: string | undefined): Refusal | undefined {
  if (ROLES.indexOf(principal.role) < ROLES.indexOf(role)) {
    return ['token.role_too_low', `this needs a token with the role ${role}, and yours is ${principal.role}`];
  }
  if (principal.merchants === null || limited === 'anything' || limited === 'filtered') return undefined;
  if (limited === 'nothing') return CONCERNS_OTHERS;
  if (merchantId !== undefined && principal.merchants.includes(merchantId)) return undefined;
  return LIMITED_TO_OTHERS;
}
