import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { PUBLIC_ROUTE, unauthorized } from '#platform';
import { ROLES, type Role } from '#rules-db';
import { ACCESS, type Access, MERCHANT_ITSELF } from './access.js';
import { CONCERNS_OTHERS, forbidden, LIMITED_TO_OTHERS, NO_MERCHANT, OPENS_ONLY_ME, type Refusal } from './forbidden.js';
import { LabelReach } from './label-reach.js';
import { merchantOf, type Principal, principalOf, setPrincipal } from './principal.js';

/** Lets a request pass whose token has the role that the handler asks for, and is not limited to other merchants. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    @Inject(Reflector) private readonly reflector: Reflector,
    @Inject(LabelReach) private readonly reach: LabelReach,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
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
    if (access === undefined) throw forbidden(NOBODY_MAY);
    const limitedPrincipal = await this.limited(principal, access, request);
    const refusal = refusalOf(access, limitedPrincipal, (request.params as { merchantId?: string }).merchantId);
    if (refusal !== undefined) throw forbidden(refusal);
    return true;
  }

  /** The bearer as it is limited for this request. A role that is too low is not worth a look into the database. */
  private async limited(principal: Principal, access: Access, request: FastifyRequest): Promise<Principal> {
    if (principal.label === undefined || isTooLow(principal.role, access.role)) return principal;
    const resolved = await this.reach.resolved(principal, principal.label, access, request);
    setPrincipal(request, resolved);
    return resolved;
  }
}

const NOBODY_MAY: Refusal = ['token.nobody_may', 'nobody may do this'];

const isTooLow = (role: Role, wanted: Role): boolean => ROLES.indexOf(role) < ROLES.indexOf(wanted);

/** Why the bearer may not do it; nothing if it may. */
export function refusalOf({ role, limited }: Access, principal: Principal, merchantId: string | undefined): Refusal | undefined {
  if (isTooLow(principal.role, role)) {
    return ['token.role_too_low', `this needs a token with the role ${role}, and yours is ${principal.role}`];
  }
  if (principal.merchants === null || limited === 'anything' || limited === 'filtered' || limited === 'searched') return undefined;
  if (limited === 'nothing') return CONCERNS_OTHERS;
  if (merchantId !== undefined && principal.merchants.includes(merchantId)) return undefined;
  return LIMITED_TO_OTHERS;
}
