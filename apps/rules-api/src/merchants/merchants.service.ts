import { Inject, Injectable } from '@nestjs/common';
import { ProblemError } from '#platform';
import { type Actor, type Expected, MerchantNotFoundError, MerchantRepository } from '#rules-db';
import { type Page, decodeCursor, encodeCursor, toPage } from '../pagination/page.js';
import { type PageQueryDto } from '../pagination/page-query.dto.js';
import { type CreateMerchantDto, merchantView, type MerchantView, type UpdateMerchantDto } from './merchant.dto.js';

const LIST = 'merchants';

@Injectable()
export class MerchantsService {
  constructor(@Inject(MerchantRepository) private readonly merchants: MerchantRepository) {}

  async create({ id, name, timeZone }: CreateMerchantDto, by: Actor): Promise<MerchantView> {
    return merchantView(await this.merchants.create({ id, name, timeZone }, by));
  }

  async list({ size, cursor }: PageQueryDto, among: readonly string[] | null): Promise<Page<MerchantView>> {
    const after = cursor === undefined ? undefined : decodeCursor(LIST, cursor, isId)[0];
    const rows = await this.merchants.list({ after, limit: size + 1, among });
    return toPage(rows, size, merchantView, ({ id }) => encodeCursor(LIST, [id]));
  }

  async get(id: string): Promise<MerchantView> {
    const merchant = await this.merchants.find(id);
    if (!merchant) throw new MerchantNotFoundError(id);
    return merchantView(merchant);
  }

  async update(id: string, expected: Expected, { name, timeZone }: UpdateMerchantDto, by: Actor): Promise<MerchantView> {
    if (name === undefined && timeZone === undefined) {
      throw new ProblemError({ status: 400, code: 'merchant.nothing_to_change', detail: 'expected name or timeZone or both, got neither' });
    }
    const changes = { ...(name !== undefined && { name }), ...(timeZone !== undefined && { timeZone }) };
    return merchantView(await this.merchants.update(id, expected, changes, by));
  }

  async delete(id: string, expected: Expected, by: Actor): Promise<void> {
    await this.merchants.delete(id, expected, by);
  }
}

function isId(values: readonly unknown[]): values is [string] {
  return values.length === 1 && typeof values[0] === 'string' && !values[0].includes('\0');
}
