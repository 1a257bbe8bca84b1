import type { DataSource } from 'typeorm';

/** Answers are kept for so long. */
const KEPT = `interval '1 day'`;
/** A request that has no answer after so many seconds will not get one: its process has died. No request is answered later than this. */
const ABANDONED_AFTER_SECONDS = { request: 30, longRequest: 330 };
/** So many expired rows are deleted with each new one, so that they never pile up and no deletion is long. */
const DELETED_AT_ONCE = 20;

export interface IdempotentRequest {
  readonly bearer: string;
  readonly key: string;
  /** A hash of everything that makes it this request. */
  readonly requestHash: Buffer;
  /** Whether it may take minutes. */
  readonly isLong?: boolean;
}

/** What is known of a key that was used before. */
export interface UsedKey {
  readonly requestHash: Buffer;
  /** Null: the first request is still being answered. */
  readonly status: number | null;
  /** Null: it was not kept. */
  readonly answer: string | null;
}

/** Idempotency keys and the answers that belong to them. */
export class IdempotencyKeyRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** Claims a key for a request. Null: the key is new, and the request is to be carried out; otherwise how it was used before. */
  async claim({ bearer, key, requestHash, isLong = false }: IdempotentRequest): Promise<UsedKey | null> {
    await this.deleteExpired();
    const { request, longRequest } = ABANDONED_AFTER_SECONDS;
    const claimed = (await this.dataSource.query(
      `INSERT INTO idempotency_key AS k (bearer, key, request_hash) VALUES ($1, $2, $3)
       ON CONFLICT (bearer, key) DO UPDATE SET request_hash = $3, status = NULL, answer = NULL, created_at = now()
       WHERE k.created_at < now() - ${KEPT}
         OR (k.status IS NULL AND k.created_at < now() - make_interval(secs => CASE WHEN k.request_hash = $3 THEN $4::int ELSE ${longRequest} END))
       RETURNING 1`,
      // Of another request nobody knows here how long it takes.
      [bearer, key, requestHash, isLong ? longRequest : request],
    )) as unknown[];
    if (claimed.length > 0) return null;
    const [used] = (await this.dataSource.query(
      'SELECT request_hash AS "requestHash", status, answer FROM idempotency_key WHERE bearer = $1 AND key = $2',
      [bearer, key],
    )) as UsedKey[];
    // Released since: whoever repeats the request a moment later may carry it out.
    return used ?? { requestHash, status: null, answer: null };
  }

  /** Keeps the answer. @param answer null if it may not be kept */
  async settle({ bearer, key, requestHash }: IdempotentRequest, status: number, answer: string | null): Promise<void> {
    await this.dataSource.query(
      'UPDATE idempotency_key SET status = $4, answer = $5 WHERE bearer = $1 AND key = $2 AND request_hash = $3',
      [bearer, key, requestHash, status, answer],
    );
  }

  /** Frees the key: the request failed in a way that may pass. */
  async release({ bearer, key, requestHash }: IdempotentRequest): Promise<void> {
    await this.dataSource.query('DELETE FROM idempotency_key WHERE bearer = $1 AND key = $2 AND request_hash = $3 AND status IS NULL', [
      bearer,
      key,
      requestHash,
    ]);
  }

  private async deleteExpired(): Promise<void> {
    await this.dataSource.query(
      `DELETE FROM idempotency_key WHERE (bearer, key) IN (
         SELECT bearer, key FROM idempotency_key WHERE created_at < now() - ${KEPT} ORDER BY created_at LIMIT ${DELETED_AT_ONCE} FOR UPDATE SKIP LOCKED)`,
    );
  }
}
