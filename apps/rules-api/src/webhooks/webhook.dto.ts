import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import type { Fields, Labels } from '#limiter';
import { type Delivery, DELIVERY_STATES, type DeliveryState, WEBHOOK_EVENTS, type WebhookEntity, type WebhookEventType } from '#rules-db';
import { changeDto } from '../http/change-dto.js';
import { VersionedView, versionedView } from '../http/versioned-view.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';
import { ROTATE_SECRET_FIELDS, WEBHOOK_FIELDS } from './webhook-fields.js';

export class WebhookDto extends changeDto('webhook', WEBHOOK_FIELDS) {}

/** The document's name for a merge patch of a webhook; its schema is made from that of WebhookDto. */
export class WebhookPatch {}

export class RotateSecretDto extends changeDto('webhook', ROTATE_SECRET_FIELDS) {
  static override readonly mayBeAbsent = true;
}

export class SendDto extends changeDto('webhook', {}) {
  static override readonly mayBeAbsent = true;
}

/** A webhook as the API shows it, without its secret. */
export class WebhookView extends VersionedView {
  @ApiProperty({ type: String, example: '3' })
  id: string;

  @ApiProperty({ type: String, example: 'https://example.com/tollgate' })
  url: string;

  @ApiProperty({ enum: WEBHOOK_EVENTS, isArray: true })
  events: readonly WebhookEventType[];

  @ApiProperty({ type: Boolean })
  enabled: boolean;

  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, example: { team: 'risk' } })
  labels: Labels;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'The time until which the secret before the last rotation signs as well',
  })
  formerSecretUntil: string | null;
}

/** The only answer that ever shows a secret. */
export class NewWebhookView extends OmitType(WebhookView, [] as const) {
  @ApiProperty({ type: String, example: 'whsec_…', description: 'The secret that signs deliveries. It is shown now and never again.' })
  secret: string;
}

export class WebhookPage {
  @ApiProperty({ type: [WebhookView] })
  items: WebhookView[];

  @ApiProperty({ type: String, nullable: true, description: 'The cursor of the next page; null on the last one' })
  nextCursor: string | null;
}

/** An event on its way to a receiver. */
export class DeliveryView {
  @ApiProperty({ type: String, example: '17' })
  id: string;

  @ApiProperty({ type: String, description: 'The header webhook-id, the same for each attempt' })
  messageId: string;

  @ApiProperty({ type: String, example: 'rule.changed' })
  event: string;

  @ApiProperty({
    enum: DELIVERY_STATES,
    description: 'dead: every attempt has failed, and there will be no other one unless somebody retries it',
  })
  state: DeliveryState;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'Attempts since the delivery was created or retried by hand' })
  attempts: number;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the next attempt is made; null if there will be none',
  })
  nextAttemptAt: string | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  lastAttemptAt: string | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 503,
    description: 'The status of the last answer of the receiver; null if it did not answer',
  })
  lastStatus: number | null;

  @ApiProperty({ type: String, nullable: true, example: 'ECONNREFUSED', description: 'Why the last attempt failed' })
  lastError: string | null;

  @ApiProperty({ type: String, format: 'date-time' })
  createdAt: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'When it was delivered or given up' })
  finishedAt: string | null;
}

export class DeliveryPage {
  @ApiProperty({ type: [DeliveryView] })
  items: DeliveryView[];

  @ApiProperty({ type: String, nullable: true, description: 'The cursor of the next page; null on the last one' })
  nextCursor: string | null;
}

const STATE = { kind: 'choice', values: DELIVERY_STATES, explanation: 'Only deliveries in this state.' } as const;

export const DELIVERY_FILTERS = ['state'];

export class DeliveryQueryDto extends PageQueryDto {
  static override readonly fields = { ...PageQueryDto.fields, state: STATE } as const satisfies Fields;

  @ApiPropertyOptional({ enum: DELIVERY_STATES, description: STATE.explanation })
  state?: DeliveryState;
}

export function webhookView({ id, url, events, enabled, labels, formerUntil, ...stored }: WebhookEntity): WebhookView {
  return {
    id,
    url,
    events,
    enabled,
    labels,
    formerSecretUntil: formerUntil?.toISOString() ?? null,
    ...versionedView(stored),
  };
}

export function deliveryView(delivery: Delivery): DeliveryView {
  const { id, messageId, event, state, attempts, nextAttemptAt, lastAttemptAt, lastStatus, lastError, createdAt, finishedAt } = delivery;
  return {
    id,
    messageId,
    event,
    state,
    attempts,
    nextAttemptAt: state === 'pending' ? nextAttemptAt.toISOString() : null,
    lastAttemptAt: lastAttemptAt?.toISOString() ?? null,
    lastStatus,
    lastError,
    createdAt: createdAt.toISOString(),
    finishedAt: finishedAt?.toISOString() ?? null,
  };
}
