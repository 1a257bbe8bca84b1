import { Controller, Get, Inject, Param, Query, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { MerchantReach } from '#rules-db';
import { Needs } from '../auth/access.js';
import { LimitedTo } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { MerchantIdPipe } from '../http/path-ids.js';
import { Asks, Lists } from '../openapi/operations.js';
import type { Page } from '../pagination/page.js';
import { TopQueryDto, UsagePage, UsageQueryDto, UsageTop, type UsageView } from './usage.dto.js';
import { UsageService } from './usage.service.js';

@ApiTags('usage')
@Controller('v1')
@UseInterceptors(DatabaseInterceptor)
export class UsageController {
  constructor(@Inject(UsageService) private readonly usage: UsageService) {}

  @Get('merchants/:merchantId/usage')
  @Needs('viewer', 'merchant')
  @Lists('Count the requests of a merchant that passed and were refused, by rule', UsagePage, {
    belowSomething: true,
    query: ['since', 'step'],
  })
  async ofMerchant(@Param('merchantId', MerchantIdPipe) merchantId: string, @Query() query: UsageQueryDto): Promise<Page<UsageView>> {
    return this.usage.ofMerchant(merchantId, query);
  }

  @Get('usage/top')
  @Needs('viewer', 'filtered')
  @Asks('Rank the rules of merchants that refuse most, or are close to their limits', UsageTop, { query: ['by', 'since', 'limit'] })
  async top(@Query() query: TopQueryDto, @LimitedTo() among: MerchantReach): Promise<UsageTop> {
    return this.usage.top(query, among);
  }
}
