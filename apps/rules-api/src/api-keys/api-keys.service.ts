import { Inject, Injectable } from '@nestjs/common';
import { API_KEY_TEXT } from '#platform';
import { type Actor, ApiKeyNotFoundError, MerchantApiKeyRepository, MerchantNotFoundError, MerchantRepository } from '#rules-db';
import { futureMoment } from '../http/future-moment.js';
import { decodeCursor, encodeCursor, filteredList, isIdPosition, type Page, toPage } from '../pagination/page.js';
import { labelIn } from '../pagination/label-filter.js';
import {
  type ApiKeyQueryDto,
  type ApiKeyView,
  apiKeyView,
  type CreateApiKeyDto,
  type NewApiKeyView,
  type RotateApiKeyDto,
} from './api-key.dto.js';

/** The API keys of merchants. */
@Injectable()
export class ApiKeysService {
  constructor(
    @Inject(MerchantApiKeyRepository) private readonly keys: MerchantApiKeyRepository,
    @Inject(MerchantRepository) private readonly merchants: MerchantRepository,
  ) {}

  async create(merchantId: string, { name, user, labels = {}, expiresAt }: CreateApiKeyDto, by: Actor): Promise<NewApiKeyView> {
    const expiry = futureMoment(expiresAt, 'api_key');
    const made = API_KEY_TEXT.make();
    const key = await this.keys.create(merchantId, { name, user: user ?? null, labels, expiresAt: expiry }, made, by);
    return { ...apiKeyView(key), key: made.token };
  }

  async list(merchantId: string, { size, cursor, label }: ApiKeyQueryDto): Promise<Page<ApiKeyView>> {
    const list = filteredList('api-keys', { label });
    const after = cursor === undefined ? undefined : decodeCursor(list, cursor, isIdPosition)[0];
    const rows = await this.keys.list(merchantId, { after, limit: size + 1, label: label === undefined ? undefined : labelIn(label) });
    if (rows.length === 0) await this.mustExist(merchantId);
    return toPage(rows, size, apiKeyView, ({ id }) => encodeCursor(list, [id]));
  }

  async get(merchantId: string, id: string): Promise<ApiKeyView> {
    const key = await this.keys.find(merchantId, id);
    if (key) return apiKeyView(key);
    await this.mustExist(merchantId);
    throw new ApiKeyNotFoundError(id);
  }

  async rotate(merchantId: string, id: string, { overlapSeconds }: RotateApiKeyDto, by: Actor): Promise<NewApiKeyView> {
    const made = API_KEY_TEXT.make();
    const formerUntil = new Date(Date.now() + overlapSeconds * 1000);
    return { ...apiKeyView(await this.keys.rotate(merchantId, id, made, formerUntil, by)), key: made.token };
  }

  async delete(merchantId: string, id: string, by: Actor): Promise<void> {
    await this.keys.delete(merchantId, id, by);
  }

  private async mustExist(merchantId: string): Promise<void> {
    if (!(await this.merchants.find(merchantId))) throw new MerchantNotFoundError(merchantId);
  }
}
