import { Inject, Injectable } from '@nestjs/common';
import { demandAmong } from '../auth/forbidden.js';
import { HOUR_MS, LiveReports, USAGE_KEPT_MS } from '../buckets/live-reports.js';
import type { TopKeyQueryDto, TopKeys } from './top-key.dto.js';

/** Which keys of rules asked most, or were refused most, within the last day, as gateways have counted them. */
@Injectable()
export class TopKeysService {
  constructor(@Inject(LiveReports) private readonly reports: LiveReports) {}

  /** @param among the merchants to which the bearer is limited; null: all. @throws ProblemError 403, 503 */
  async rank({ by, since, limit, merchant }: TopKeyQueryDto, among: readonly string[] | null): Promise<TopKeys> {
    if (merchant !== undefined) demandAmong(merchant, among);
    const nowMs = await this.reports.nowMs();
    const wantedMs = since === undefined ? nowMs - HOUR_MS : Date.parse(since);
    const fromMs = Math.floor(Math.max(wantedMs, nowMs - USAGE_KEPT_MS) / HOUR_MS) * HOUR_MS;
    const merchants = merchant === undefined ? among : [merchant];
    const { keys, overestimatedBy } = await this.reports.topKeys(by, fromMs, nowMs + 1, merchants);
    return { since: new Date(fromMs).toISOString(), items: keys.slice(0, Number(limit)), overestimatedBy };
  }
}
