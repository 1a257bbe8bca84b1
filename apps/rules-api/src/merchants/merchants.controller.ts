import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Patch, Post, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Actor, ExpectedVersions, MerchantReach } from '#rules-db';
import { Needs } from '../auth/access.js';
import { CurrentActor, LimitedTo } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { created, IfMatch, tagged } from '../http/entity-tag.js';
import { MerchantIdPipe } from '../http/path-ids.js';
import { Creates, Deletes, Lists, Patches, Reads } from '../openapi/operations.js';
import type { Page } from '../pagination/page.js';
import { CreateMerchantDto, MerchantPage, MerchantPatch, MerchantView } from './merchant.dto.js';
import { MerchantQueryDto } from './merchant-query.dto.js';
import { MerchantsService } from './merchants.service.js';

@ApiTags('merchants')
@Controller('v1/merchants')
@UseInterceptors(DatabaseInterceptor)
export class MerchantsController {
  constructor(@Inject(MerchantsService) private readonly merchants: MerchantsService) {}

  @Post()
  @Needs('editor', 'nothing')
  @Creates('Create a merchant', MerchantView)
  async create(
    @Body() body: CreateMerchantDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MerchantView> {
    return created(reply, await this.merchants.create(body, by));
  }

  @Get()
  @Needs('viewer', 'searched')
  @Lists('List merchants by id', MerchantPage, { query: ['name', 'label', 'plan'] })
  async list(@Query() query: MerchantQueryDto, @LimitedTo() reach: MerchantReach): Promise<Page<MerchantView>> {
    return this.merchants.list(query, reach);
  }

  @Get(':merchantId')
  @Needs('viewer', 'merchant')
  @Reads('Read a merchant', MerchantView)
  async get(@Param('merchantId', MerchantIdPipe) id: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<MerchantView> {
    return tagged(reply, await this.merchants.get(id));
  }

  @Patch(':merchantId')
  @Needs('editor', 'merchant')
  @Patches('Change a merchant by a JSON merge patch', MerchantView, MerchantPatch)
  async update(
    @Param('merchantId', MerchantIdPipe) id: string,
    @IfMatch() expected: ExpectedVersions,
    @Body() body: object,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MerchantView> {
    return tagged(reply, await this.merchants.update(id, expected, body, by));
  }

  @Delete(':merchantId')
  @HttpCode(204)
  @Needs('editor', 'merchant')
  @Deletes('Delete a merchant with its rules')
  async delete(
    @Param('merchantId', MerchantIdPipe) id: string,
    @IfMatch() expected: ExpectedVersions,
    @CurrentActor() by: Actor,
  ): Promise<void> {
    await this.merchants.delete(id, expected, by);
  }
}
