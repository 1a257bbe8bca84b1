import { type DataSource, type EntityManager, MoreThan } from 'typeorm';
import { createHash } from 'node:crypto';
import type { Labels } from '#limiter';
import type { AuditAction } from '../changes/audit.entity.js';
import { type Actor, type ExpectedVersions, isExpected } from '../changes/change.js';
import { recordChange } from '../changes/change-log.js';
import {
  DeliveryNotFoundError,
  TooManyWebhooksError,
  VersionConflictError,
  WebhookDisabledError,
  WebhookNotFoundError,
} from '../connection/errors.js';
import { TEST_EVENT, WebhookEntity, type WebhookEventType } from './webhook.entity.js';

/** Each of them is told of each event. */
const MAX_WEBHOOKS = 20;

export const DELIVERY_STATES = ['pending', 'delivered', 'dead'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export interface WebhookSpec {
  readonly url: string;
  readonly events: readonly WebhookEventType[];
  readonly enabled: boolean;
  readonly labels: Labels;
}

/** An event on its way to one receiver. */
export interface Delivery {
  readonly id: string;
  /** The same for each attempt, and for each receiver of the event. */
  readonly messageId: string;
  readonly event: string;
  readonly state: DeliveryState;
  /** Begun since it was made or last retried by hand. */
  readonly attempts: number;
  /** Of a pending one. */
  readonly nextAttemptAt: Date;
  readonly lastAttemptAt: Date | null;
  /** Of the last answer; null if there was none. */
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

const DELIVERIES = `SELECT d.id, e.message_id AS "messageId", e.type AS event, d.state, d.attempts, d.next_attempt_at AS "nextAttemptAt",
    d.last_attempt_at AS "lastAttemptAt", d.last_status AS "lastStatus", d.last_error AS "lastError", d.created_at AS "createdAt",
    d.finished_at AS "finishedAt"
  FROM webhook_delivery d JOIN webhook_event e ON e.id = d.event_id`;

/** Who is told of changes. Each change is one transaction with its audit row. */
export class WebhookRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** @param secret encrypted @throws TooManyWebhooksError */
  async create(spec: WebhookSpec, secret: Buffer, by: Actor): Promise<WebhookEntity> {
    return this.dataSource.transaction(async (manager) => {
      // Two that are created at once are counted one after the other.
      await manager.query('LOCK TABLE webhook IN SHARE ROW EXCLUSIVE MODE');
      if ((await manager.count(WebhookEntity)) >= MAX_WEBHOOKS) throw new TooManyWebhooksError(MAX_WEBHOOKS);
      const { identifiers } = await manager.insert(WebhookEntity, { ...spec, secret, version: 1 });
      const created = await manager.findOneByOrFail(WebhookEntity, { id: (identifiers[0] as { id: string }).id });
      await record(manager, 'webhook.created', null, created, by);
      return created;
    });
  }

  async find(id: string): Promise<WebhookEntity | null> {
    return this.dataSource.manager.findOneBy(WebhookEntity, { id });
  }

  /** At most `limit` in the order of their creation, from the first one after `after`. */
  async list({ after, limit }: { after?: string | undefined; limit: number }): Promise<WebhookEntity[]> {
    const where = after === undefined ? {} : { id: MoreThan(after) };
    return this.dataSource.manager.find(WebhookEntity, { where, order: { id: 'ASC' }, take: limit });
  }

  /** @param spec makes what is to be from what is; if it throws, nothing is changed @throws WebhookNotFoundError, VersionConflictError */
  async update(id: string, expected: ExpectedVersions, spec: (before: WebhookEntity) => WebhookSpec, by: Actor): Promise<WebhookEntity> {
    return this.dataSource.transaction(async (manager) => {
      const before = await locked(manager, id, expected);
      await manager.update(WebhookEntity, { id }, { ...spec(before), version: before.version + 1 });
      const after = await manager.findOneByOrFail(WebhookEntity, { id });
      await record(manager, 'webhook.updated', before, after, by);
      return after;
    });
  }

  /** Replaces the secret; the former one signs as well for so long. @throws WebhookNotFoundError */
  async rotate(id: string, secret: Buffer, overlapMs: number, by: Actor): Promise<WebhookEntity> {
    return this.dataSource.transaction(async (manager) => {
      const before = await locked(manager, id, 'any');
      await manager.query(
        `UPDATE webhook SET former_secret = secret, former_until = clock_timestamp() + $2 * interval '1 millisecond', secret = $3,
           version = version + 1, updated_at = now() WHERE id = $1`,
        [id, overlapMs, secret],
      );
      const after = await manager.findOneByOrFail(WebhookEntity, { id });
      await record(manager, 'webhook.rotated', before, after, by);
      return after;
    });
  }

  /** Its deliveries go with it. @throws WebhookNotFoundError, VersionConflictError */
  async delete(id: string, expected: ExpectedVersions, by: Actor): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      const before = await locked(manager, id, expected);
      await manager.delete(WebhookEntity, { id });
      await record(manager, 'webhook.deleted', before, null, by);
    });
  }

  /** Makes an event for one receiver only. @param body makes its body @throws WebhookNotFoundError, WebhookDisabledError */
  async test(id: string, body: (type: string) => string, by: Actor): Promise<Delivery> {
    const deliveryId = await this.dataSource.transaction(async (manager) => {
      const webhook = await locked(manager, id, 'any');
      if (!webhook.enabled) throw new WebhookDisabledError(id);
      const [made] = (await manager.query(
        `WITH event AS (INSERT INTO webhook_event (type, body, routed) VALUES ($2, $3, true) RETURNING id)
         INSERT INTO webhook_delivery (webhook_id, event_id) SELECT $1, id FROM event RETURNING id`,
        [id, TEST_EVENT, body(TEST_EVENT)],
      )) as [{ id: string }];
      await record(manager, 'webhook.tested', webhook, webhook, by);
      return made.id;
    });
    return (await this.delivery(id, deliveryId))!;
  }

  /** At most `limit`, the newest first, from the first one before `before`. */
  async deliveries(
    webhookId: string,
    { state, before, limit }: { state?: DeliveryState | undefined; before?: string | undefined; limit: number },
  ): Promise<Delivery[]> {
    return (await this.dataSource.query(
      `${DELIVERIES} WHERE d.webhook_id = $1 AND ($2::text IS NULL OR d.state = $2) AND ($3::bigint IS NULL OR d.id < $3)
       ORDER BY d.id DESC LIMIT $4`,
      [webhookId, state ?? null, before ?? null, limit],
    )) as Delivery[];
  }

  async delivery(webhookId: string, id: string): Promise<Delivery | null> {
    const [found] = (await this.dataSource.query(`${DELIVERIES} WHERE d.webhook_id = $1 AND d.id = $2`, [webhookId, id])) as Delivery[];
    return found ?? null;
  }

  /** Sends it again now, as often as a new one; whoever got it already gets the same message id. @throws WebhookNotFoundError, DeliveryNotFoundError */
  async retry(webhookId: string, id: string, by: Actor): Promise<Delivery> {
    await this.dataSource.transaction(async (manager) => {
      const webhook = await locked(manager, webhookId, 'any');
      const [, changed] = (await manager.query(
        `UPDATE webhook_delivery SET state = 'pending', attempts = 0, next_attempt_at = clock_timestamp(), finished_at = NULL
         WHERE webhook_id = $1 AND id = $2`,
        [webhookId, id],
      )) as [unknown[], number];
      if (changed !== 1) throw new DeliveryNotFoundError(id);
      await record(manager, 'webhook.retried', webhook, webhook, by);
    });
    const delivery = await this.delivery(webhookId, id);
    if (!delivery) throw new DeliveryNotFoundError(id);
    return delivery;
  }
}

async function locked(manager: EntityManager, id: string, expected: ExpectedVersions): Promise<WebhookEntity> {
  const webhook = await manager.findOne(WebhookEntity, { where: { id }, lock: { mode: 'pessimistic_write' } });
  if (!webhook) throw new WebhookNotFoundError(id);
  if (!isExpected(expected, webhook.version)) throw new VersionConflictError(webhook.version);
  return webhook;
}

async function record(
  manager: EntityManager,
  action: AuditAction,
  before: WebhookEntity | null,
  after: WebhookEntity | null,
  by: Actor,
): Promise<void> {
  await recordChange(manager, { merchantId: null, action, before: before && written(before), after: after && written(after), by });
}

/** A path or a query may hold a secret, and more people read the audit than may read webhooks: it shows only whether they changed. */
function written({ url, ...webhook }: WebhookEntity): object {
  return { ...webhook, url: new URL(url).origin, urlDigest: createHash('sha256').update(url).digest('hex').slice(0, 16) };
}
