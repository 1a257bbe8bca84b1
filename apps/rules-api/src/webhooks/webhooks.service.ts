import { isPublicAddress } from '#addresses';
import { Inject, Injectable } from '@nestjs/common';
import { isIP } from 'node:net';
import {
  type Actor,
  DeliveryNotFoundError,
  type ExpectedVersions,
  type WebhookEntity,
  WebhookNotFoundError,
  WebhookRepository,
  type WebhookSpec,
} from '#rules-db';
import { mergePatch } from '../http/merge-patch.js';
import { badBody, jsonObject, validated } from '../http/validation.pipe.js';
import { decodeCursor, encodeCursor, filteredList, type Page, toPage } from '../pagination/page.js';
import type { PageQueryDto } from '../pagination/page-query.dto.js';
import {
  type DeliveryQueryDto,
  deliveryView,
  type DeliveryView,
  type NewWebhookView,
  type RotateSecretDto,
  WebhookDto,
  webhookView,
  type WebhookView,
} from './webhook.dto.js';
import { WebhookSecrets } from './webhook-secrets.js';

/** Whether webhooks may lead to private addresses, and by http. */
export const WEBHOOK_ALLOW_PRIVATE = Symbol('whether webhooks may lead to private addresses');

const LIST = 'webhooks';

/** Who is told of changes. */
@Injectable()
export class WebhooksService {
  constructor(
    @Inject(WebhookRepository) private readonly webhooks: WebhookRepository,
    @Inject(WebhookSecrets) private readonly secrets: WebhookSecrets,
    @Inject(WEBHOOK_ALLOW_PRIVATE) private readonly allowPrivate: boolean,
  ) {}

  async create(body: WebhookDto, by: Actor): Promise<NewWebhookView> {
    const { text, sealed } = this.secrets.make();
    return { ...webhookView(await this.webhooks.create(this.spec(body), sealed, by)), secret: text };
  }

  async list({ size, cursor }: PageQueryDto): Promise<Page<WebhookView>> {
    const after = cursor === undefined ? undefined : decodeCursor(LIST, cursor, isId)[0];
    const rows = await this.webhooks.list({ after, limit: size + 1 });
    return toPage(rows, size, webhookView, ({ id }) => encodeCursor(LIST, [id]));
  }

  async get(id: string): Promise<WebhookView> {
    return webhookView(await this.existing(id));
  }

  /** @param patch a JSON merge patch; what it makes of the webhook is checked as a whole */
  async patch(id: string, expected: ExpectedVersions, patch: object, by: Actor): Promise<WebhookView> {
    const after = ({ url, events, enabled, labels }: WebhookEntity): WebhookSpec =>
      this.spec(validated(mergePatch({ url, events, enabled, labels }, jsonObject(patch), WebhookDto.fields), WebhookDto));
    return webhookView(await this.webhooks.update(id, expected, after, by));
  }

  async rotate(id: string, { overlapSeconds }: RotateSecretDto, by: Actor): Promise<NewWebhookView> {
    const { text, sealed } = this.secrets.make();
    return { ...webhookView(await this.webhooks.rotate(id, sealed, overlapSeconds * 1000, by)), secret: text };
  }

  async delete(id: string, expected: ExpectedVersions, by: Actor): Promise<void> {
    await this.webhooks.delete(id, expected, by);
  }

  async test(id: string, by: Actor): Promise<DeliveryView> {
    const body = (type: string) => JSON.stringify({ type, timestamp: new Date().toISOString(), data: { actor: by.name } });
    return deliveryView(await this.webhooks.test(id, body, by));
  }

  async deliveries(id: string, { size, cursor, state }: DeliveryQueryDto): Promise<Page<DeliveryView>> {
    await this.existing(id);
    const list = filteredList(`deliveries of ${id}`, { state });
    const before = cursor === undefined ? undefined : decodeCursor(list, cursor, isId)[0];
    const rows = await this.webhooks.deliveries(id, { state, before, limit: size + 1 });
    return toPage(rows, size, deliveryView, (delivery) => encodeCursor(list, [delivery.id]));
  }

  async delivery(id: string, deliveryId: string): Promise<DeliveryView> {
    const delivery = await this.webhooks.delivery(id, deliveryId);
    if (delivery) return deliveryView(delivery);
    await this.existing(id);
    throw new DeliveryNotFoundError(deliveryId);
  }

  async retry(id: string, deliveryId: string, by: Actor): Promise<DeliveryView> {
    return deliveryView(await this.webhooks.retry(id, deliveryId, by));
  }

  private async existing(id: string): Promise<WebhookEntity> {
    const webhook = await this.webhooks.find(id);
    if (!webhook) throw new WebhookNotFoundError(id);
    return webhook;
  }

  /** Refuses at once what could never be delivered. To where a name leads is known only when it is connected to, and checked then. */
  private spec({ url, events, enabled, labels = {} }: WebhookDto): WebhookSpec {
    const { protocol, hostname } = new URL(url);
    const address = hostname.replace(/^\[|\]$/g, '');
    if (!this.allowPrivate && protocol !== 'https:') throw wrongUrl('must begin with https://');
    if (!this.allowPrivate && isIP(address) !== 0 && !isPublicAddress(address))
      throw wrongUrl('must not lead to an address that is not public');
    return { url, events, enabled, labels };
  }
}

function wrongUrl(detail: string) {
  return badBody([{ pointer: '/url', code: 'webhook.url.malformed', detail }]);
}

function isId(values: readonly unknown[]): values is [string] {
  return values.length === 1 && typeof values[0] === 'string' && /^[1-9]\d{0,17}$/.test(values[0]);
}
