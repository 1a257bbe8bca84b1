import { Inject, Injectable } from '@nestjs/common';
import { type Actor, MerchantNotFoundError, MerchantRepository, OverrideNotFoundError, OverrideRepository } from '#rules-db';
import { decodeCursor, encodeCursor, type Page, toPage } from '../pagination/page.js';
import type { PageQueryDto } from '../pagination/page-query.dto.js';
import { type CreateOverrideDto, overrideView, type OverrideView } from './override.dto.js';
import { namingFields, overrideSpec } from './override-spec.js';

const LIST = 'overrides';

/** Other numbers of a rule for one merchant, for a time. */
@Injectable()
export class OverridesService {
  constructor(
    @Inject(OverrideRepository) private readonly overrides: OverrideRepository,
    @Inject(MerchantRepository) private readonly merchants: MerchantRepository,
  ) {}

  async create(merchantId: string, body: CreateOverrideDto, by: Actor): Promise<OverrideView> {
    const spec = overrideSpec(body, by);
    return overrideView(await namingFields(this.overrides.create(merchantId, spec, by)), Date.now());
  }

  async list(merchantId: string, { size, cursor }: PageQueryDto): Promise<Page<OverrideView>> {
    const after = cursor === undefined ? undefined : decodeCursor(LIST, cursor, isId)[0];
    const rows = await this.overrides.list(merchantId, { after, limit: size + 1 });
    if (rows.length === 0) await this.demandMerchant(merchantId);
    const nowMs = Date.now();
    return toPage(
      rows,
      size,
      (row) => overrideView(row, nowMs),
      ({ id }) => encodeCursor(LIST, [id]),
    );
  }

  async get(merchantId: string, id: string): Promise<OverrideView> {
    const found = await this.overrides.find(merchantId, id);
    if (!found) throw new OverrideNotFoundError(id);
    return overrideView(found, Date.now());
  }

  async delete(merchantId: string, id: string, by: Actor): Promise<void> {
    await this.overrides.delete(merchantId, id, by);
  }

  private async demandMerchant(merchantId: string): Promise<void> {
    if (!(await this.merchants.find(merchantId))) throw new MerchantNotFoundError(merchantId);
  }
}

function isId(values: readonly unknown[]): values is [string] {
  return values.length === 1 && typeof values[0] === 'string' && /^[1-9]\d{0,17}$/.test(values[0]);
}
