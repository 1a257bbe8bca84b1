import type { DataSource } from 'typeorm';
import type { WebhookEventType } from './webhook.entity.js';

/** That a limit of a merchant's rule is nearly or wholly used, as gateways have seen it. */
export interface LimitReached {
  /** A uuid that is the same whenever the same event is recorded again. */
  readonly messageId: string;
  readonly type: 'limit.80' | 'limit.100' | 'key.refused';
  readonly at: Date;
  readonly merchantId: string;
  readonly ruleId: string;
  /** The name of the rule. */
  readonly rule: string;
  /** The name of the limit. */
  readonly limit: string;
  /** Of the bucket, in tokens. */
  readonly capacity: number;
  readonly remaining: number;
  /** Of `key.refused`: the parts of the key, hashed where they are personal, and how often at least it was refused within a minute. */
  readonly key?: Readonly<Record<string, string>>;
  readonly refused?: number;
}

/** Those of these types that some webhook wants. */
export async function wantedEvents<T extends WebhookEventType>(dataSource: DataSource, types: readonly T[]): Promise<T[]> {
  const rows = (await dataSource.query(
    `SELECT t.type FROM unnest($1::text[]) AS t (type)
     WHERE EXISTS (SELECT 1 FROM webhook w WHERE w.enabled AND w.events @> to_jsonb(t.type))`,
    [types],
  )) as { type: T }[];
  return rows.map(({ type }) => type);
}

/** Inserts what there is to tell, each event once, however often it is recorded; nothing that nobody wants to know. */
export async function recordLimitEvents(dataSource: DataSource, events: readonly LimitReached[]): Promise<void> {
  if (events.length === 0) return;
  const timestamp = new Date().toISOString();
  await dataSource.query(
    `INSERT INTO webhook_event (message_id, type, body)
     SELECT e.id, e.type, e.body FROM unnest($1::uuid[], $2::text[], $3::text[]) AS e (id, type, body)
     WHERE EXISTS (SELECT 1 FROM webhook w WHERE w.enabled AND w.events @> to_jsonb(e.type))
     ON CONFLICT (message_id) DO NOTHING`,
    [
      events.map(({ messageId }) => messageId),
      events.map(({ type }) => type),
      events.map(({ type, messageId: _id, capacity, remaining, ...rest }) => {
        const usedPercent = capacity > 0 ? Math.max(0, Math.floor((100 * (capacity - remaining)) / capacity)) : 100;
        return JSON.stringify({ type, timestamp, data: { ...rest, capacity, remaining, usedPercent } });
      }),
    ],
  );
}
