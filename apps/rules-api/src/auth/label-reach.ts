import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { isMerchantId } from '#limiter';
import { type MerchantLabel, MerchantRepository } from '#rules-db';
import { RulesDatabase } from '../database.js';
import { databaseUnavailable } from '../http/rules-api-exception.filter.js';
import type { Access } from './access.js';
import type { Principal } from './principal.js';

/** As many as a token may name. A call that looks across so few goes through them one by one, which is the shortest way; across more it goes by the label. */
const MOST_MERCHANTS = 100;

/**
 * Looks up, for each request, whom a token means that is limited to a label: who takes the label from a merchant takes the merchant from such a token at once. See
 * decision 93.
 */
@Injectable()
export class LabelReach {
  constructor(
    @Inject(MerchantRepository) private readonly merchants: MerchantRepository,
    @Inject(RulesDatabase) private readonly database: RulesDatabase,
  ) {}

  /** The bearer with the merchants that count for this request, or still with its label if they are many. @throws ProblemError 503 */
  async resolved(principal: Principal, label: MerchantLabel, { limited }: Access, request: FastifyRequest): Promise<Principal> {
    if (limited === 'anything' || limited === 'nothing' || limited === 'searched') return principal;
    if (!this.database.isReady) throw databaseUnavailable();
    const named = merchantNamedBy(request);
    const merchants =
      named === undefined ? await this.merchants.labelled(label, MOST_MERCHANTS + 1) : await this.merchants.labelledAmong([named], label);
    const { label: _, ...unlabelled } = principal;
    return merchants.length > MOST_MERCHANTS ? principal : { ...unlabelled, merchants };
  }
}

/** The merchant that a call is about, from its path, its query or its body, in this order. None of them is checked yet. */
function merchantNamedBy({ params, query, body }: FastifyRequest): string | undefined {
  const named = memberOf(params, 'merchantId') ?? memberOf(query, 'merchant') ?? memberOf(body, 'merchantId');
  return typeof named === 'string' && isMerchantId(named) ? named : undefined;
}

function memberOf(of: unknown, name: string): unknown {
  return typeof of === 'object' && of !== null && Object.hasOwn(of, name) ? (of as Record<string, unknown>)[name] : undefined;
}
