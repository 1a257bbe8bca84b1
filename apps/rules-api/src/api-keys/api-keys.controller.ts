import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Actor } from '#rules-db';
import { Needs } from '../auth/access.js';
import { CurrentActor } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { located } from '../http/entity-tag.js';
import { ShownOnce } from '../http/idempotency.interceptor.js';
import { ApiKeyIdPipe, MerchantIdPipe } from '../http/path-ids.js';
import { CreatesUnversioned, DeletesAny, Does, Lists, ReadsUnversioned } from '../openapi/operations.js';
import type { Page } from '../pagination/page.js';
import { ApiKeyPage, ApiKeyQueryDto, ApiKeyView, CreateApiKeyDto, NewApiKeyView, RotateApiKeyDto } from './api-key.dto.js';
import { ApiKeysService } from './api-keys.service.js';

/** Whoever has a key sends as the merchant: only an admin makes one. */
@ApiTags('api-keys')
@Controller('v1/merchants/:merchantId/api-keys')
@UseInterceptors(DatabaseInterceptor)
export class ApiKeysController {
  constructor(@Inject(ApiKeysService) private readonly keys: ApiKeysService) {}

  @Post()
  @Needs('admin', 'merchant')
  @ShownOnce()
  @CreatesUnversioned('Create an API key of a merchant', NewApiKeyView, { belowSomething: true })
  async create(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Body() body: CreateApiKeyDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<NewApiKeyView> {
    return located(reply, await this.keys.create(merchantId, body, by));
  }

  @Get()
  @Needs('viewer', 'merchant')
  @Lists('List the API keys of a merchant in the order of their creation', ApiKeyPage, { belowSomething: true, query: ['label'] })
  async list(@Param('merchantId', MerchantIdPipe) merchantId: string, @Query() query: ApiKeyQueryDto): Promise<Page<ApiKeyView>> {
    return this.keys.list(merchantId, query);
  }

  @Get(':keyId')
  @Needs('viewer', 'merchant')
  @ReadsUnversioned('Read what is known of an API key', ApiKeyView)
  async get(@Param('merchantId', MerchantIdPipe) merchantId: string, @Param('keyId', ApiKeyIdPipe) id: string): Promise<ApiKeyView> {
    return this.keys.get(merchantId, id);
  }

  @Post(':keyId/rotate')
  @HttpCode(200)
  @Needs('admin', 'merchant')
  @ShownOnce()
  @Does('Replace an API key by a new one; the former is good for a while', NewApiKeyView)
  async rotate(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Param('keyId', ApiKeyIdPipe) id: string,
    @Body() body: RotateApiKeyDto,
    @CurrentActor() by: Actor,
  ): Promise<NewApiKeyView> {
    return this.keys.rotate(merchantId, id, body, by);
  }

  @Delete(':keyId')
  @HttpCode(204)
  @Needs('admin', 'merchant')
  @DeletesAny('Revoke an API key')
  async delete(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Param('keyId', ApiKeyIdPipe) id: string,
    @CurrentActor() by: Actor,
  ): Promise<void> {
    await this.keys.delete(merchantId, id, by);
  }
}
