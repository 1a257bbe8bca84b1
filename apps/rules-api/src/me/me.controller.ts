import { Controller, Get, Inject, Query, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ForMerchantItself } from '../auth/access.js';
import { MyMerchantId } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { ShowsMerchant } from '../openapi/operations.js';
import type { Page } from '../pagination/page.js';
import { MyLimitPage, MyLimitsQueryDto, type MyLimitView } from './me.dto.js';
import { MeService } from './me.service.js';

/** What a merchant sees of itself. */
@ApiTags('me')
@Controller('v1/me')
@UseInterceptors(DatabaseInterceptor)
export class MeController {
  constructor(@Inject(MeService) private readonly me: MeService) {}

  @Get('limits')
  @ForMerchantItself()
  @ShowsMerchant('Show a merchant its own limits and what is left of them', MyLimitPage, { query: ['ip', 'method'] })
  async limits(@MyMerchantId() merchantId: string, @Query() query: MyLimitsQueryDto): Promise<Page<MyLimitView>> {
    return this.me.limits(merchantId, query);
  }
}
