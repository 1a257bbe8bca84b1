import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { ProblemError } from '#platform';
import { type MerchantReach, MerchantRepository } from '#rules-db';
import { demandAmong } from '../auth/forbidden.js';
import { type DecisionReceipt, LiveReports, type ReceiptFilter, type ReceiptPage, type SeenMerchants } from '../buckets/live-reports.js';
import { databaseUnavailable } from '../http/rules-api-exception.filter.js';
import { type DecisionQueryDto, type DecisionsAfter, decisionView, type DecisionView } from './decision.dto.js';
import { REQUEST_ID } from './decision-fields.js';

/** Answers that wait for decisions at one time; a further one is given at once. */
const MOST_WAITING = 50;
const LOOK_AGAIN_MS = 500;

/** Receipts of what gateways decided within the last day. */
@Injectable()
export class DecisionsService implements BeforeApplicationShutdown {
  private waiting = 0;
  private readonly ending = new AbortController();

  constructor(
    @Inject(LiveReports) private readonly reports: LiveReports,
    @Inject(MerchantRepository) private readonly merchants: MerchantRepository,
  ) {}

  /** @param among the merchants to which the bearer is limited; null: all. @throws ProblemError 404, 503 */
  async get(requestId: string, among: MerchantReach): Promise<DecisionView> {
    return decisionView(await this.receipt(requestId, among));
  }

  /** @throws ProblemError 404, 503 */
  async receipt(requestId: string, among: MerchantReach): Promise<DecisionReceipt> {
    const receipt = REQUEST_ID.fault(requestId) === undefined ? await this.reports.receipt(requestId, this.seen(among)) : undefined;
    if (receipt !== undefined) return receipt;
    const detail =
      'no receipt of this request: none was written, or it is gone. Receipts are kept for a day, and there are not more of them than fit';
    throw new ProblemError({ status: 404, code: 'decision.not_found', detail });
  }

  /** @throws ProblemError 403, 503 */
  async list({ after, merchant, outcome, limit, wait }: DecisionQueryDto, among: MerchantReach): Promise<DecisionsAfter> {
    if (merchant !== undefined) demandAmong(merchant, await this.merchants.narrowed(among, [merchant]));
    const filter: ReceiptFilter = {
      merchants: merchant === undefined ? this.seen(among) : [merchant],
      allowed: outcome === 'all' ? undefined : outcome === 'passed',
    };
    const page =
      after === undefined
        ? await this.reports.newestReceipts(Number(limit), filter)
        : await this.after(after, Number(limit), filter, 1000 * Number(wait));
    return { items: page.items.map(decisionView), cursor: page.cursor };
  }

  beforeApplicationShutdown(): void {
    this.ending.abort();
  }

  /** Of a label, those of the merchants that have it are looked up as receipts are read: there may be any number of both. */
  private seen(reach: MerchantReach): SeenMerchants {
    if (reach === null || !('key' in reach)) return reach;
    return (ids) =>
      this.merchants.labelledAmong(ids, reach).catch((error: unknown) => {
        throw databaseUnavailable(error);
      });
  }

  private async after(cursor: string, limit: number, filter: ReceiptFilter, waitMs: number): Promise<ReceiptPage> {
    const first = await this.reports.receiptsAfter(cursor, limit, filter);
    if (first.items.length > 0 || first.more || waitMs === 0 || this.waiting >= MOST_WAITING) return first;
    this.waiting++;
    try {
      return await this.later(first, limit, filter, performance.now() + waitMs);
    } finally {
      this.waiting--;
    }
  }

  /** Looks again and again: a blocking read would need a connection of its own for each who waits. */
  private async later(page: ReceiptPage, limit: number, filter: ReceiptFilter, untilMs: number): Promise<ReceiptPage> {
    while (page.items.length === 0 && !page.more && performance.now() < untilMs && !this.ending.signal.aborted) {
      await sleep(LOOK_AGAIN_MS, undefined, { signal: this.ending.signal }).catch(() => {});
      page = await this.reports.receiptsAfter(page.cursor, limit, filter);
    }
    return page;
  }
}
