import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Patch, Post, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Actor, ExpectedVersions } from '#rules-db';
import { Needs } from '../auth/access.js';
import { CurrentActor } from '../auth/principal.js';
import { DatabaseInterceptor } from '../http/database.interceptor.js';
import { created, IfMatch, tagged } from '../http/entity-tag.js';
import { ShownOnce } from '../http/idempotency.interceptor.js';
import { DeliveryIdPipe, WebhookIdPipe } from '../http/path-ids.js';
import { Begins, Creates, Deletes, Does, Lists, Patches, Reads, ReadsUnversioned } from '../openapi/operations.js';
import type { Page } from '../pagination/page.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';
import {
  DELIVERY_FILTERS,
  DeliveryPage,
  DeliveryQueryDto,
  DeliveryView,
  NewWebhookView,
  RotateSecretDto,
  SendDto,
  WebhookDto,
  WebhookPage,
  WebhookPatch,
  WebhookView,
} from './webhook.dto.js';
import { WebhooksService } from './webhooks.service.js';

@ApiTags('webhooks')
@Controller('v1/webhooks')
@UseInterceptors(DatabaseInterceptor)
export class WebhooksController {
  constructor(@Inject(WebhooksService) private readonly webhooks: WebhooksService) {}

  @Post()
  @Needs('admin', 'nothing')
  @ShownOnce()
  @Creates('Create a webhook', NewWebhookView)
  async create(
    @Body() body: WebhookDto,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<NewWebhookView> {
    return created(reply, await this.webhooks.create(body, by));
  }

  @Get()
  @Needs('admin', 'nothing')
  @Lists('List webhooks in the order of their creation', WebhookPage)
  async list(@Query() query: PageQueryDto): Promise<Page<WebhookView>> {
    return this.webhooks.list(query);
  }

  @Get(':webhookId')
  @Needs('admin', 'nothing')
  @Reads('Read a webhook', WebhookView)
  async get(@Param('webhookId', WebhookIdPipe) id: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<WebhookView> {
    return tagged(reply, await this.webhooks.get(id));
  }

  @Patch(':webhookId')
  @Needs('admin', 'nothing')
  @Patches('Change a webhook by a JSON merge patch', WebhookView, WebhookPatch)
  async patch(
    @Param('webhookId', WebhookIdPipe) id: string,
    @IfMatch() expected: ExpectedVersions,
    @Body() body: object,
    @CurrentActor() by: Actor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<WebhookView> {
    return tagged(reply, await this.webhooks.patch(id, expected, body, by));
  }

  @Post(':webhookId/rotate')
  @HttpCode(200)
  @Needs('admin', 'nothing')
  @ShownOnce()
  @Does('Replace the secret of a webhook; the former one signs as well for a while', NewWebhookView)
  async rotate(
    @Param('webhookId', WebhookIdPipe) id: string,
    @Body() body: RotateSecretDto,
    @CurrentActor() by: Actor,
  ): Promise<NewWebhookView> {
    return this.webhooks.rotate(id, body, by);
  }

  @Delete(':webhookId')
  @HttpCode(204)
  @Needs('admin', 'nothing')
  @Deletes('Delete a webhook with its deliveries')
  async delete(
    @Param('webhookId', WebhookIdPipe) id: string,
    @IfMatch() expected: ExpectedVersions,
    @CurrentActor() by: Actor,
  ): Promise<void> {
    await this.webhooks.delete(id, expected, by);
  }

  @Post(':webhookId/test')
  @HttpCode(202)
  @Needs('admin', 'nothing')
  @Begins('Send a webhook an event of the type webhook.test', DeliveryView)
  async test(@Param('webhookId', WebhookIdPipe) id: string, @Body() _body: SendDto, @CurrentActor() by: Actor): Promise<DeliveryView> {
    return this.webhooks.test(id, by);
  }

  @Get(':webhookId/deliveries')
  @Needs('admin', 'nothing')
  @Lists('List the deliveries of a webhook, the newest first', DeliveryPage, { belowSomething: true, query: DELIVERY_FILTERS })
  async deliveries(@Param('webhookId', WebhookIdPipe) id: string, @Query() query: DeliveryQueryDto): Promise<Page<DeliveryView>> {
    return this.webhooks.deliveries(id, query);
  }

  @Get(':webhookId/deliveries/:deliveryId')
  @Needs('admin', 'nothing')
  @ReadsUnversioned('Read a delivery of a webhook', DeliveryView)
  async delivery(
    @Param('webhookId', WebhookIdPipe) id: string,
    @Param('deliveryId', DeliveryIdPipe) deliveryId: string,
  ): Promise<DeliveryView> {
    return this.webhooks.delivery(id, deliveryId);
  }

  @Post(':webhookId/deliveries/:deliveryId/retry')
  @HttpCode(202)
  @Needs('admin', 'nothing')
  @Begins('Send a delivery of a webhook again', DeliveryView)
  async retry(
    @Param('webhookId', WebhookIdPipe) id: string,
    @Param('deliveryId', DeliveryIdPipe) deliveryId: string,
    @Body() _body: SendDto,
    @CurrentActor() by: Actor,
  ): Promise<DeliveryView> {
    return this.webhooks.retry(id, deliveryId, by);
  }
}
