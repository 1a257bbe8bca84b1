import { type DataSource, type EntityManager, MoreThan } from 'typeorm';
import type { AuditAction } from '../changes/audit.entity.js';
import { API_TOKEN_NAME, ApiTokenEntity, type Role } from './api-token.entity.js';
import { violatedConstraint } from '../connection/availability.js';
import type { Actor } from '../changes/change.js';
import { recordChange } from '../changes/change-log.js';
import { TokenNameTakenError, TokenNotFoundError, TooManyTokensError } from '../connection/errors.js';
import { type HashedSecret, noteUse, replaceSecret, secretsByPrefix } from './rotating-secret.js';

/** More tokens than that nobody looks after. */
export const MAX_TOKENS = 1_000;

export interface ApiTokenSpec {
  readonly name: string;
  readonly role: Role;
  /** Null: all. */
  readonly merchants: readonly string[] | null;
  /** Only merchants that have this label, as NAME=VALUE; `merchants` is empty then, for versions that know no labels. */
  readonly label?: string | null;
  /** Null: never. */
  readonly expiresAt: Date | null;
}

/** What says whose token it is. */
export interface StoredToken extends HashedSecret {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly merchants: unknown;
  readonly label: unknown;
  /** When it stops being good; null: never. */
  readonly until: Date | null;
}

/** Tokens of administrators and machines. Each change is one transaction with its audit row. */
export class ApiTokenRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** @throws TokenNameTakenError, TooManyTokensError */
  async create(spec: ApiTokenSpec, { prefix, hash }: HashedSecret, by: Actor): Promise<ApiTokenEntity> {
    return this.dataSource.transaction(async (manager) => {
      if ((await manager.count(ApiTokenEntity)) >= MAX_TOKENS) throw new TooManyTokensError(MAX_TOKENS);
      const { identifiers } = await nameTaken(spec.name, manager.insert(ApiTokenEntity, { ...spec, prefix, hash }));
      const created = await manager.findOneByOrFail(ApiTokenEntity, { id: (identifiers[0] as { id: string }).id });
      await recordTokenChange(manager, 'token.created', null, created, by);
      return created;
    });
  }

  async find(id: string): Promise<ApiTokenEntity | null> {
    return this.dataSource.manager.findOneBy(ApiTokenEntity, { id });
  }

  /** At most `limit` tokens in the order of their creation, from the first one after `after`. */
  async list({ after, limit }: { after?: string | undefined; limit: number }): Promise<ApiTokenEntity[]> {
    return this.dataSource.manager.find(ApiTokenEntity, {
      where: after === undefined ? {} : { id: MoreThan(after) },
      order: { id: 'ASC' },
      take: limit,
    });
  }

  /** Replaces the token by a new one; the former is good until then as well. @throws TokenNotFoundError */
  async rotate(id: string, secret: HashedSecret, formerUntil: Date, by: Actor): Promise<ApiTokenEntity> {
    return this.dataSource.transaction(async (manager) => {
      const before = await locked(manager, id);
      await replaceSecret(manager, 'api_token', id, secret, formerUntil);
      const after = await manager.findOneByOrFail(ApiTokenEntity, { id });
      await recordTokenChange(manager, 'token.rotated', before, after, by);
      return after;
    });
  }

  /** Both the token and the one before it are void from now on. @throws TokenNotFoundError */
  async delete(id: string, by: Actor): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      const before = await locked(manager, id);
      await manager.delete(ApiTokenEntity, { id });
      await recordTokenChange(manager, 'token.deleted', before, null, by);
    });
  }

  /** The token that has this prefix, or had it before its last rotation. Whether it is still good says `until`. */
  async byPrefix(prefix: string): Promise<StoredToken | null> {
    const [found] = await secretsByPrefix<StoredToken>(this.dataSource, 'api_token', 'id, name, role, merchants, label', [prefix]);
    return found ?? null;
  }

  /** Notes that a token was used. */
  async used(id: string, at: Date): Promise<void> {
    await noteUse(this.dataSource, 'api_token', id, at);
  }
}

async function locked(manager: EntityManager, id: string): Promise<ApiTokenEntity> {
  const token = await manager.findOne(ApiTokenEntity, { where: { id }, lock: { mode: 'pessimistic_write' } });
  if (!token) throw new TokenNotFoundError(id);
  return token;
}

/** No gateway has to know: there is no news for the outbox. */
async function recordTokenChange(
  manager: EntityManager,
  action: AuditAction,
  before: ApiTokenEntity | null,
  after: ApiTokenEntity | null,
  by: Actor,
): Promise<void> {
  await recordChange(manager, { merchantId: null, action, before, after, by });
}

async function nameTaken<T>(name: string, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (violatedConstraint(error) === API_TOKEN_NAME) throw new TokenNameTakenError(name);
    throw error;
  }
}
