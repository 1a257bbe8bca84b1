import { type DataSource, type EntityManager, JsonContains, MoreThan } from 'typeorm';
import type { Labels } from '#limiter';
import type { AuditAction } from '../changes/audit.entity.js';
import { violatedConstraint } from '../connection/availability.js';
import type { Actor } from '../changes/change.js';
import { recordChange } from '../changes/change-log.js';
import { ApiKeyNameTakenError, ApiKeyNotFoundError, TooManyApiKeysError } from '../connection/errors.js';
import { API_KEY_NAME, MerchantApiKeyEntity } from './merchant-api-key.entity.js';
import { raiseRulesVersion } from '../rules/rules-version.js';
import { type HashedSecret, noteUse, replaceSecret, secretsByPrefix } from '../tokens/rotating-secret.js';

/** A key for each service of a merchant, and some more. */
export const MAX_API_KEYS_PER_MERCHANT = 100;

export interface ApiKeySpec {
  readonly name: string;
  /** Null: none in particular. */
  readonly user: string | null;
  readonly labels: Labels;
  /** Null: never. */
  readonly expiresAt: Date | null;
}

export interface ApiKeyListing {
  readonly after?: string | undefined;
  readonly limit: number;
  readonly label?: { readonly key: string; readonly value: string } | undefined;
}

/** What says whose key it is. Rows have been edited by hand before: nothing here is what it should be without a look. */
export interface StoredApiKey extends HashedSecret {
  readonly id: string;
  readonly merchantId: string;
  readonly user: unknown;
  readonly labels: unknown;
  /** When it stops being good; null: never. */
  readonly until: Date | null;
}

/**
 * API keys of merchants. Each change is one transaction with its audit row and an outbox row, because gateways remember keys: they hear that the
 * merchant has changed.
 */
export class MerchantApiKeyRepository {
  constructor(private readonly dataSource: DataSource) {}

  /** @throws MerchantNotFoundError, ApiKeyNameTakenError, TooManyApiKeysError */
  async create(merchantId: string, spec: ApiKeySpec, { prefix, hash }: HashedSecret, by: Actor): Promise<MerchantApiKeyEntity> {
    return this.dataSource.transaction(async (manager) => {
      // First of all, because it locks the merchant: nobody else creates a key meanwhile.
      const version = await raiseRulesVersion(manager, merchantId);
      if ((await manager.countBy(MerchantApiKeyEntity, { merchantId })) >= MAX_API_KEYS_PER_MERCHANT)
        throw new TooManyApiKeysError(MAX_API_KEYS_PER_MERCHANT);
      const { identifiers } = await nameTaken(spec.name, manager.insert(MerchantApiKeyEntity, { ...spec, merchantId, prefix, hash }));
      const after = await manager.findOneByOrFail(MerchantApiKeyEntity, { id: (identifiers[0] as { id: string }).id });
      await recordChange(manager, { merchantId, action: 'api_key.created', before: null, after, version, by });
      return after;
    });
  }

  async find(merchantId: string, id: string): Promise<MerchantApiKeyEntity | null> {
    return this.dataSource.manager.findOneBy(MerchantApiKeyEntity, { merchantId, id });
  }

  /** At most `limit` keys of the merchant in the order of their creation, from the first one after `after`; only those that have the label, if one is given. */
  async list(merchantId: string, { after, limit, label }: ApiKeyListing): Promise<MerchantApiKeyEntity[]> {
    return this.dataSource.manager.find(MerchantApiKeyEntity, {
      where: {
        merchantId,
        ...(after !== undefined && { id: MoreThan(after) }),
        ...(label !== undefined && { labels: JsonContains({ [label.key]: label.value }) }),
      },
      order: { id: 'ASC' },
      take: limit,
    });
  }

  /** Replaces the key by a new one; the former is good until then as well. @throws MerchantNotFoundError, ApiKeyNotFoundError */
  async rotate(merchantId: string, id: string, secret: HashedSecret, formerUntil: Date, by: Actor): Promise<MerchantApiKeyEntity> {
    return this.change(merchantId, id, 'api_key.rotated', by, async (manager) => {
      await replaceSecret(manager, 'merchant_api_key', id, secret, formerUntil);
      return manager.findOneByOrFail(MerchantApiKeyEntity, { id });
    });
  }

  /** Both the key and the one before it are void from now on. @throws MerchantNotFoundError, ApiKeyNotFoundError */
  async delete(merchantId: string, id: string, by: Actor): Promise<void> {
    await this.change(merchantId, id, 'api_key.deleted', by, async (manager) => {
      await manager.delete(MerchantApiKeyEntity, { id });
      return null;
    });
  }

  /** The key that has this prefix, or had it before its last rotation. Whether it is still good says `until`. */
  async byPrefix(prefix: string): Promise<StoredApiKey | null> {
    const [found] = await apiKeysByPrefix(this.dataSource, [prefix]);
    return found ?? null;
  }

  /** Notes that a key was used. */
  async used(id: string, at: Date): Promise<void> {
    await noteUse(this.dataSource, 'merchant_api_key', id, at);
  }

  private async change<T extends MerchantApiKeyEntity | null>(
    merchantId: string,
    id: string,
    action: AuditAction,
    by: Actor,
    write: (manager: EntityManager) => Promise<T>,
  ): Promise<T> {
    return this.dataSource.transaction(async (manager) => {
      const version = await raiseRulesVersion(manager, merchantId);
      const before = await manager.findOneBy(MerchantApiKeyEntity, { merchantId, id });
      if (!before) throw new ApiKeyNotFoundError(id);
      const after = await write(manager);
      await recordChange(manager, { merchantId, action, before, after, version, by });
      return after;
    });
  }
}

/** For those who only recognise keys. */
export async function apiKeysByPrefix(dataSource: DataSource, prefixes: readonly string[]): Promise<StoredApiKey[]> {
  return secretsByPrefix<StoredApiKey>(
    dataSource,
    'merchant_api_key',
    'id, merchant_id AS "merchantId", user_id AS "user", labels',
    prefixes,
  );
}

async function nameTaken<T>(name: string, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (violatedConstraint(error) === API_KEY_NAME) throw new ApiKeyNameTakenError(name);
    throw error;
  }
}
