import type { DataSource } from 'typeorm';

/** Events that become deliveries by one statement. */
const ROUTED_AT_ONCE = 500;

/** What one trimming deletes at most of each kind. */
const TRIMMED_AT_ONCE = 1_000;

/** How much is kept, by the clock of PostgreSQL, and how many of one webhook. */
export const KEPT = { deliveredDays: 7, deadDays: 30, finished: 10_000, pending: 50_000 } as const;

/** Of a delivery that fell behind so far that it is given up. */
const TOO_MANY_WAIT = 'too many deliveries wait for this receiver';

/** A delivery that this process is to attempt now. */
export interface DueDelivery {
  readonly id: string;
  readonly webhookId: string;
  /** This one included. */
  readonly attempts: number;
  readonly messageId: string;
  readonly event: string;
  readonly body: string;
  readonly url: string;
  /** Encrypted; the newest first. */
  readonly secrets: readonly Buffer[];
}

export interface Trimmed {
  /** Deliveries that became dead letters because too many wait for their receiver. */
  readonly givenUp: number;
  /** Whether nothing is left that should be deleted now. */
  readonly isDone: boolean;
}

/** What became of an attempt. */
export type AttemptOutcome =
  | { readonly state: 'delivered'; readonly status: number }
  | { readonly state: 'failed'; readonly status: number | null; readonly error: string; readonly retryAfterMs: number }
  | { readonly state: 'dead'; readonly status: number | null; readonly error: string }
  /** It was called off by this process, and says nothing about the receiver. */
  | { readonly state: 'released' };

/**
 * Deliveries as those see them who send them. Several processes may do so: each takes deliveries that no other one has taken. All times are those of
 * PostgreSQL, so that clocks that differ make nothing late. A delivery whose process dies is taken by another one when its lease has ended.
 */
export class WebhookDeliveries {
  constructor(private readonly dataSource: DataSource) {}

  /** Makes deliveries of new events, one for each receiver that wants them. @returns the number of events */
  async route(): Promise<number> {
    const routed = (await this.dataSource.query(
      `WITH fresh AS (SELECT id, type FROM webhook_event WHERE NOT routed ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED),
       made AS (
         INSERT INTO webhook_delivery (webhook_id, event_id)
         SELECT w.id, f.id FROM fresh f JOIN webhook w ON w.enabled AND w.events @> to_jsonb(f.type) ORDER BY f.id)
       UPDATE webhook_event e SET routed = true FROM fresh f WHERE e.id = f.id RETURNING e.id`,
      [ROUTED_AT_ONCE],
    )) as [unknown[], number];
    return routed[1];
  }

  /**
   * Takes what is due, for `leaseMs`.
   * @param perWebhook so many of one receiver at most are under way here
   * @param underWay how many of each already are
   */
  async claim(perWebhook: number, underWay: ReadonlyMap<string, number>, leaseMs: number): Promise<DueDelivery[]> {
    const [due] = (await this.dataSource.query(
      `WITH due AS (
         SELECT x.id FROM webhook w CROSS JOIN LATERAL (
           SELECT d.id FROM webhook_delivery d
           WHERE d.webhook_id = w.id AND d.state = 'pending' AND d.next_attempt_at <= clock_timestamp()
           ORDER BY d.next_attempt_at, d.id LIMIT greatest(0, $1 - coalesce(($2::jsonb ->> w.id::text)::int, 0)) FOR UPDATE SKIP LOCKED) x
         WHERE w.enabled)
       UPDATE webhook_delivery d
       SET attempts = d.attempts + 1, last_attempt_at = clock_timestamp(), next_attempt_at = clock_timestamp() + $3 * interval '1 millisecond'
       FROM due, webhook w, webhook_event e
       WHERE d.id = due.id AND w.id = d.webhook_id AND e.id = d.event_id
       RETURNING d.id, d.webhook_id AS "webhookId", d.attempts, e.message_id AS "messageId", e.type AS event, e.body, w.url, w.secret,
         CASE WHEN w.former_until > clock_timestamp() THEN w.former_secret END AS former`,
      [perWebhook, JSON.stringify(Object.fromEntries(underWay)), leaseMs],
    )) as [(Omit<DueDelivery, 'secrets'> & { secret: Buffer; former: Buffer | null })[], number];
    return due.map(({ secret, former, ...delivery }) => ({ ...delivery, secrets: former === null ? [secret] : [secret, former] }));
  }

  /** Writes down what became of an attempt, unless somebody else has taken the delivery since. */
  async settle({ id, attempts }: Pick<DueDelivery, 'id' | 'attempts'>, outcome: AttemptOutcome): Promise<void> {
    const mine = `WHERE id = $1 AND attempts = $2 AND state = 'pending'`;
    if (outcome.state === 'released') {
      const back = 'attempts = attempts - 1, next_attempt_at = clock_timestamp()';
      await this.dataSource.query(`UPDATE webhook_delivery SET ${back} ${mine}`, [id, attempts]);
    } else if (outcome.state === 'failed') {
      await this.dataSource.query(
        `UPDATE webhook_delivery SET last_status = $3, last_error = $4, next_attempt_at = clock_timestamp() + $5 * interval '1 millisecond' ${mine}`,
        [id, attempts, outcome.status, outcome.error, outcome.retryAfterMs],
      );
    } else {
      const error = outcome.state === 'dead' ? outcome.error : null;
      await this.dataSource.query(
        `UPDATE webhook_delivery SET state = $3, last_status = $4, last_error = $5, finished_at = clock_timestamp() ${mine}`,
        [id, attempts, outcome.state, outcome.status, error],
      );
    }
  }

  /** Deletes what is old or too much, a part at a time. */
  async trim(kept: { readonly finished: number; readonly pending: number } = KEPT): Promise<Trimmed> {
    const beyond = (state: string) => `SELECT x.id FROM webhook w CROSS JOIN LATERAL (
      SELECT d.id FROM webhook_delivery d WHERE d.webhook_id = w.id AND ${state} ORDER BY d.id DESC OFFSET $1 LIMIT ${TRIMMED_AT_ONCE}) x`;
    const givenUp = await this.changed(
      `UPDATE webhook_delivery SET state = 'dead', last_error = $2, finished_at = clock_timestamp() WHERE id IN (${beyond(`d.state = 'pending'`)})`,
      [kept.pending, TOO_MANY_WAIT],
    );
    const deleted = [
      await this.changed(
        `DELETE FROM webhook_delivery WHERE id IN (
           SELECT id FROM webhook_delivery
           WHERE finished_at < now() - CASE state WHEN 'dead' THEN $1::int ELSE $2::int END * interval '1 day' LIMIT ${TRIMMED_AT_ONCE})`,
        [KEPT.deadDays, KEPT.deliveredDays],
      ),
      await this.changed(`DELETE FROM webhook_delivery WHERE id IN (${beyond(`d.state <> 'pending'`)})`, [kept.finished]),
      await this.changed(
        `DELETE FROM webhook_event WHERE id IN (
           SELECT e.id FROM webhook_event e WHERE e.routed AND NOT EXISTS (SELECT 1 FROM webhook_delivery d WHERE d.event_id = e.id)
           LIMIT ${TRIMMED_AT_ONCE} FOR UPDATE SKIP LOCKED)`,
        [],
      ),
    ];
    return { givenUp, isDone: [givenUp, ...deleted].every((rows) => rows < TRIMMED_AT_ONCE) };
  }

  private async changed(statement: string, parameters: unknown[]): Promise<number> {
    const [, rows] = (await this.dataSource.query(statement, parameters)) as [unknown[], number];
    return rows;
  }
}
