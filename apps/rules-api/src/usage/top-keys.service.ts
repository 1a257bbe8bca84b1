import { Inject, Injectable } from '@nestjs/common';
import { type MerchantReach, MerchantRepository } from '#rules-db';
import { demandAmong } from '../auth/forbidden.js';
import { HOUR_MS, LiveReports, USAGE_KEPT_MS } from '../buckets/live-reports.js';
import type { TopKeyQueryDto, TopKeys } from './top-key.dto.js';

/** Which keys of rules asked most, or were refused most, within the last day, as gateways have counted them. */
@Injectable()
export class TopKeysService {
  constructor(
    @Inject(LiveReports) private readonly reports: LiveReports,
    @Inject(MerchantRepository) private readonly merchants: MerchantRepository,
  ) {}

  /** @param among the merchants to which the bearer is limited; null: all. @throws ProblemError 403, 503 */
  async rank({ by, since, limit, merchant }: TopKeyQueryDto, among: MerchantReach): Promise<TopKeys> {
    if (merchant !== undefined) demandAmong(merchant, await this.merchants.narrowed(among, [merchant]));
    const nowMs = await this.reports.nowMs();
    const wantedMs = since === undefined ? nowMs - HOUR_MS : Date.parse(since);
    const fromMs = Math.floor(Math.max(wantedMs, nowMs - USAGE_KEPT_MS) / HOUR_MS) * HOUR_MS;
    const reach = merchant === undefined ? among : [merchant];
    const label = reach !== null && 'key' in reach ? reach : undefined;
    const { keys, overestimatedBy } = await this.reports.topKeys(by, fromMs, nowMs + 1, reach === null || 'key' in reach ? null : reach);
    const seen = label === undefined ? keys : await this.merchants.ofLabelled(keys, label);
    return { since: new Date(fromMs).toISOString(), items: seen.slice(0, Number(limit)), overestimatedBy };
  }
}
