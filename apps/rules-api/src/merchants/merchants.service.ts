import { Inject, Injectable } from '@nestjs/common';
import { ProblemError } from '#platform';
import {
  type Actor,
  type ExpectedVersions,
  type MerchantChanges,
  type MerchantEntity,
  MerchantNotFoundError,
  type MerchantReach,
  MerchantRepository,
} from '#rules-db';
import { mergePatch } from '../http/merge-patch.js';
import { jsonObject } from '../http/validation.pipe.js';
import { labelIn } from '../pagination/label-filter.js';
import { decodeCursor, encodeCursor, filteredList, type Page, toPage } from '../pagination/page.js';
import { type CreateMerchantDto, merchantChanges, merchantView, type MerchantView, UpdateMerchantDto } from './merchant.dto.js';
import { MERCHANT_READ_FIELDS } from './merchant-fields.js';
import type { MerchantQueryDto } from './merchant-query.dto.js';

@Injectable()
export class MerchantsService {
  constructor(@Inject(MerchantRepository) private readonly merchants: MerchantRepository) {}

  async create({ id, name, timeZone, labels = {}, plan = null }: CreateMerchantDto, by: Actor): Promise<MerchantView> {
    return merchantView(await this.merchants.create({ id, name, timeZone, labels, plan }, by));
  }

  /** @param reach the merchants to which the bearer is limited, or their label; null: all */
  async list({ size, cursor, name: namePrefix, label, plan }: MerchantQueryDto, reach: MerchantReach): Promise<Page<MerchantView>> {
    const list = filteredList('merchants', { namePrefix, label, plan });
    const after = cursor === undefined ? undefined : decodeCursor(list, cursor, isId)[0];
    const wanted = label === undefined ? undefined : labelIn(label);
    const isByLabel = reach !== null && 'key' in reach;
    const limits = isByLabel ? { label: reach, secondLabel: wanted } : { label: wanted, among: reach };
    const rows = await this.merchants.list({ after, limit: size + 1, namePrefix, plan, ...limits });
    return toPage(rows, size, merchantView, ({ id }) => encodeCursor(list, [id]));
  }

  async get(id: string): Promise<MerchantView> {
    const merchant = await this.merchants.find(id);
    if (!merchant) throw new MerchantNotFoundError(id);
    return merchantView(merchant);
  }

  /** @param patch a JSON merge patch; what it makes of the merchant is checked as a whole */
  async update(id: string, expected: ExpectedVersions, patch: object, by: Actor): Promise<MerchantView> {
    if (Object.keys(jsonObject(patch)).every((field) => field === 'reason' || field in MERCHANT_READ_FIELDS)) {
      throw new ProblemError({
        status: 400,
        code: 'merchant.nothing_to_change',
        detail: 'expected name or timeZone or labels or plan, got none of them',
      });
    }
    const after = ({ name, timeZone, labels, plan }: MerchantEntity): MerchantChanges =>
      merchantChanges(mergePatch({ name, timeZone, labels, plan }, patch, UpdateMerchantDto.fields));
    return merchantView(await this.merchants.update(id, expected, after, by));
  }

  async delete(id: string, expected: ExpectedVersions, by: Actor): Promise<void> {
    await this.merchants.delete(id, expected, by);
  }
}

function isId(values: readonly unknown[]): values is [string] {
  return values.length === 1 && typeof values[0] === 'string' && !values[0].includes('\0');
}
