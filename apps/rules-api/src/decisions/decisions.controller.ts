import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { MerchantReach } from '#rules-db';
import { Needs } from '../auth/access.js';
import { LimitedTo } from '../auth/principal.js';
import { Asks, ReadsUnversioned } from '../openapi/operations.js';
import { DecisionQueryDto, DecisionsAfter, DecisionView } from './decision.dto.js';
import { DecisionsService } from './decisions.service.js';

/** Needs no database: receipts stand in Redis. */
@ApiTags('decisions')
@Controller('v1/decisions')
export class DecisionsController {
  constructor(@Inject(DecisionsService) private readonly decisions: DecisionsService) {}

  @Get()
  @Needs('viewer', 'filtered')
  @Asks('List receipts of decisions as they come, refusals unless asked otherwise', DecisionsAfter, {
    query: ['after', 'merchant', 'outcome', 'limit', 'wait'],
  })
  async list(@Query() query: DecisionQueryDto, @LimitedTo() among: MerchantReach): Promise<DecisionsAfter> {
    return this.decisions.list(query, among);
  }

  @Get(':requestId')
  @Needs('viewer', 'filtered')
  @ReadsUnversioned('Read the receipt of the decision about a request', DecisionView)
  async get(@Param('requestId') requestId: string, @LimitedTo() among: MerchantReach): Promise<DecisionView> {
    return this.decisions.get(requestId, among);
  }
}
