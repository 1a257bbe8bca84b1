import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Actor, MerchantLabel, MerchantReach, Role } from '#rules-db';
import { changeReason } from '../http/change-reason.js';

/** Who makes a request, and what that allows. */
export interface Principal {
  /** Stands in the audit. */
  readonly name: string;
  readonly role: Role;
  /** The merchants to which it is limited; null: all. */
  readonly merchants: readonly string[] | null;
  /** It is limited to the merchants that have this label when it asks. `merchants` has none of them before they have been looked up. */
  readonly label?: MerchantLabel;
}

/** The bearer of TOLLGATE_ADMIN_TOKEN. */
export const FIRST_ADMIN: Principal = { name: 'admin', role: 'admin', merchants: null };

/** A merchant that asks for itself, by one of its API keys. It has no role: it sees what is its own. */
export interface Merchant {
  readonly merchantId: string;
  readonly keyId: string;
}

const PRINCIPALS = new WeakMap<FastifyRequest, Principal>();

export function setPrincipal(request: FastifyRequest, principal: Principal): void {
  PRINCIPALS.set(request, principal);
}

/** Nothing for a request without a valid token. */
export function principalOf(request: FastifyRequest): Principal | undefined {
  return PRINCIPALS.get(request);
}

const MERCHANTS = new WeakMap<FastifyRequest, Merchant>();

export function setMerchant(request: FastifyRequest, merchant: Merchant): void {
  MERCHANTS.set(request, merchant);
}

/** Nothing for a request that no merchant makes for itself. */
export function merchantOf(request: FastifyRequest): Merchant | undefined {
  return MERCHANTS.get(request);
}

/** The id of the merchant that asks for itself. */
export const MyMerchantId = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  return merchantOf(context.switchToHttp().getRequest<FastifyRequest>())!.merchantId;
});

/** Who makes the request and why, for the audit. */
export const CurrentActor = createParamDecorator((_: unknown, context: ExecutionContext): Actor =>
  actorOf(context.switchToHttp().getRequest<FastifyRequest>()),
);

/** The same, of a request that has a valid token. */
export function actorOf(request: FastifyRequest): Actor {
  const reason = changeReason(request.headers['x-change-reason'], request.body);
  return { name: principalOf(request)!.name, requestId: request.id, ...(reason !== undefined && { reason }) };
}

/**
 * The merchants to which the bearer is limited; null: all. A call about one merchant gets a list, which has it or not; a call that looks across merchants may get
 * the label that they have.
 */
export const LimitedTo = createParamDecorator((_: unknown, context: ExecutionContext): MerchantReach => {
  const { label, merchants } = principalOf(context.switchToHttp().getRequest<FastifyRequest>())!;
  return label ?? merchants;
});
