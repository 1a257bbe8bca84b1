import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Actor } from '#rules-db';
import { Needs } from '../auth/access.js';
import { CurrentActor, LimitedTo } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { MerchantIdPipe } from '../http/path-ids.js';
import { Does, DoesEach, Lists } from '../openapi/operations.js';
import type { Page } from '../pagination/page.js';
import {
  AdjustBucketDto,
  BlockBucketDto,
  BucketPage,
  BucketQueryDto,
  BucketsChanged,
  type BucketView,
  ResetBucketsDto,
  UnblockBucketDto,
} from './bucket.dto.js';
import { BucketsService } from './buckets.service.js';

@ApiTags('buckets')
@Controller('v1/merchants/:merchantId/buckets')
@UseInterceptors(DatabaseInterceptor)
export class BucketsController {
  constructor(@Inject(BucketsService) private readonly buckets: BucketsService) {}

  @Get()
  @Needs('viewer', 'merchant')
  @Lists('Show the live buckets of a merchant', BucketPage, { belowSomething: true, query: ['ruleId', 'ip', 'method', 'key'] })
  async list(@Param('merchantId', MerchantIdPipe) merchantId: string, @Query() query: BucketQueryDto): Promise<Page<BucketView>> {
    return this.buckets.list(merchantId, query);
  }

  @Post('reset')
  @HttpCode(200)
  @Needs('editor', 'merchant')
  @DoesEach('Fill one bucket of a merchant, those of a rule, or all', BucketsChanged)
  async reset(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Body() body: ResetBucketsDto,
    @CurrentActor() by: Actor,
    @LimitedTo() among: readonly string[] | null,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<BucketsChanged> {
    const changed = await this.buckets.reset(merchantId, body, by, among);
    if (changed.failed.length > 0) void reply.status(207);
    return changed;
  }

  @Post('adjust')
  @HttpCode(200)
  @Needs('editor', 'merchant')
  @Does('Add tokens to a bucket of a merchant, or take some', BucketsChanged)
  async adjust(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Body() body: AdjustBucketDto,
    @CurrentActor() by: Actor,
    @LimitedTo() among: readonly string[] | null,
  ): Promise<BucketsChanged> {
    return this.buckets.adjust(merchantId, body, by, among);
  }

  @Post('block')
  @HttpCode(200)
  @Needs('editor', 'merchant')
  @Does('Refuse everything behind a bucket of a merchant for a time', BucketsChanged)
  async block(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Body() body: BlockBucketDto,
    @CurrentActor() by: Actor,
    @LimitedTo() among: readonly string[] | null,
  ): Promise<BucketsChanged> {
    return this.buckets.block(merchantId, body, by, among);
  }

  @Post('unblock')
  @HttpCode(200)
  @Needs('editor', 'merchant')
  @Does('End the block of a bucket of a merchant', BucketsChanged)
  async unblock(
    @Param('merchantId', MerchantIdPipe) merchantId: string,
    @Body() body: UnblockBucketDto,
    @CurrentActor() by: Actor,
    @LimitedTo() among: readonly string[] | null,
  ): Promise<BucketsChanged> {
    return this.buckets.unblock(merchantId, body, by, among);
  }
}
