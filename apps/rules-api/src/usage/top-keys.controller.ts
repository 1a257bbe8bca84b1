import { Controller, Get, Inject, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { MerchantReach } from '#rules-db';
import { Needs } from '../auth/access.js';
import { LimitedTo } from '../auth/principal.js';
import { Asks } from '../openapi/operations.js';
import { TopKeyQueryDto, TopKeys } from './top-key.dto.js';
import { TopKeysService } from './top-keys.service.js';

/** Needs no database: ranks stand in Redis. */
@ApiTags('usage')
@Controller('v1/usage/top-keys')
export class TopKeysController {
  constructor(@Inject(TopKeysService) private readonly keys: TopKeysService) {}

  @Get()
  @Needs('viewer', 'filtered')
  @Asks('Rank the keys of rules, such as addresses or users, that ask most or are refused most', TopKeys, {
    query: ['by', 'since', 'merchant', 'limit'],
  })
  async rank(@Query() query: TopKeyQueryDto, @LimitedTo() among: MerchantReach): Promise<TopKeys> {
    return this.keys.rank(query, among);
  }
}
