import { Column, CreateDateColumn, type DataSource, type EntityManager } from 'typeorm';

/** What is stored of a secret, in place of the secret. */
export interface HashedSecret {
  readonly prefix: string;
  readonly hash: Buffer;
}

/** The columns of a secret that is shown once, can be rotated, and may expire. The secret itself is stored nowhere. */
export abstract class RotatingSecretEntity {
  /** The beginning of the secret, by which it is found. */
  @Column({ type: 'text' })
  prefix: string;

  @Column({ type: 'bytea', select: false })
  hash: Buffer;

  /** The secret before the last rotation, as long as both are good. */
  @Column({ name: 'former_prefix', type: 'text', nullable: true })
  formerPrefix: string | null;

  @Column({ name: 'former_hash', type: 'bytea', nullable: true, select: false })
  formerHash: Buffer | null;

  @Column({ name: 'former_until', type: 'timestamptz', nullable: true })
  formerUntil: Date | null;

  /** Null: never. */
  @Column({ name: 'expires_at', type: 'timestamptz', nullable: true })
  expiresAt: Date | null;

  /** To the minute; null: never. */
  @Column({ name: 'last_used_at', type: 'timestamptz', nullable: true })
  lastUsedAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}

/** The tables that have these columns. */
type SecretTable = 'api_token' | 'merchant_api_key';

/** Replaces a secret by a new one; the former is good until then as well. */
export async function replaceSecret(
  manager: EntityManager,
  table: SecretTable,
  id: string,
  { prefix, hash }: HashedSecret,
  formerUntil: Date,
): Promise<void> {
  await manager.query(
    `UPDATE ${table} SET former_prefix = prefix, former_hash = hash, former_until = $2, prefix = $3, hash = $4 WHERE id = $1`,
    [id, formerUntil, prefix, hash],
  );
}

/**
 * The rows whose secrets have these prefixes, or had them before their last rotation, with the hash that belongs to it and, as `until`, when it stops
 * being good.
 *
 * @param columns what else is read
 */
export async function secretsByPrefix<T extends HashedSecret>(
  dataSource: DataSource,
  table: SecretTable,
  columns: string,
  prefixes: readonly string[],
): Promise<T[]> {
  return (await dataSource.query(
    `SELECT ${columns}, prefix, hash, expires_at AS until FROM ${table} WHERE prefix = ANY($1)
     UNION ALL
     SELECT ${columns}, former_prefix, former_hash, least(former_until, expires_at) FROM ${table} WHERE former_prefix = ANY($1)`,
    [prefixes],
  )) as T[];
}

/** Notes that a secret was used. */
export async function noteUse(dataSource: DataSource, table: SecretTable, id: string, at: Date): Promise<void> {
  await dataSource.query(`UPDATE ${table} SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`, [id, at]);
}
