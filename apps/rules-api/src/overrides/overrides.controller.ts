import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Actor } from '#rules-db';
import { WaitsForApproval } from '../approvals/waits-for-approval.js';
import { Needs } from '../auth/access.js';
import { CurrentActor } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { located } from '../http/entity-tag.js';
import { MerchantIdPipe, OverrideIdPipe } from '../http/path-ids.js';
import { CreatesUnversioned, DeletesAny, Lists, ReadsUnversioned } from '../openapi/operations.js';
import type { Page } from '../pagination/page.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';
import { CreateOverrideDto, OverridePage, OverrideView } from './override.dto.js';
import { OverridesService } from './overrides.service.js';

@ApiTags('overrides')
@Controller('v1/merchants/:merchantId/overrides')
@UseInterceptors(DatabaseInterceptor)
export class OverridesController {
  constructor(@Inject(OverridesService) private readonly overrides: OverridesService) {}

  @Post()
  @Needs('editor', 'merchant')
  @WaitsForApproval()
  @CreatesUnversioned('Override numbers of a rule for a merchant, for a time', OverrideView, { belowSomething: true })
  async create(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Body() body: CreateOverrideDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OverrideView> {
    return located(reply, await this.overrides.create(merchantId, body, by));
  }

  @Get()
  @Needs('viewer', 'merchant')
  @Lists('List the overrides of a merchant in the order of their creation, those that have ended included', OverridePage, {
    belowSomething: true,
  })
  async list(@Param('merchantId', MerchantIdPipe) merchantId: string, @Query() query: PageQueryDto): Promise<Page<OverrideView>> {
    return this.overrides.list(merchantId, query);
  }

  @Get(':overrideId')
  @Needs('viewer', 'merchant')
  @ReadsUnversioned('Read an override', OverrideView)
  async get(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Param('overrideId', OverrideIdPipe) id: string,
  ): Promise<OverrideView> {
    return this.overrides.get(merchantId, id);
  }

  @Delete(':overrideId')
  @HttpCode(204)
  @Needs('editor', 'merchant')
  @DeletesAny('End an override now')
  async delete(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Param('overrideId', OverrideIdPipe) id: string,
    @CurrentActor() by: Actor,
  ): Promise<void> {
    await this.overrides.delete(merchantId, id, by);
  }
}
