import { Counter, type Registry } from 'prom-client';
import {
  type DecisionReceipt,
  type LastDay,
  type RankedKeys,
  type RankedRule,
  type ReceiptFilter,
  type ReceiptPage,
  type ReceiptsBefore,
  RedisReceiptStore,
  RedisTopKeyStore,
  RedisUsageStore,
  type SeenMerchants,
  type TopKeyRank,
  type UsageStep,
  type RedisConnection,
} from '#limiter-redis';
import { ProblemError } from '#platform';
import { withDeadline } from '#waiting';

export type {
  DecisionReceipt,
  LastDay,
  ReceiptFilter,
  ReceiptPage,
  ReceiptSample,
  ReceiptsBefore,
  SeenMerchants,
  TopKeyRank,
  UsageStep,
} from '#limiter-redis';
export { addUsage, HOUR_MS, isReceiptCursor, MINUTE_MS, TOP_KEY_RANKS, USAGE_KEPT_MS } from '#limiter-redis';

/** An administrator waits longer than a request may. Milliseconds. */
const DEADLINE_MS = 1_000;

/** As long a write waits for what is only good to know. Milliseconds. */
const QUICK_DEADLINE_MS = 250;

/** The 503 of everything that asks the Redis of the buckets. */
export function bucketsUnavailable(detail: string): ProblemError {
  return new ProblemError({ status: 503, code: 'buckets.unavailable', detail, headers: { 'retry-after': '1' } });
}

/** What gateways have told Redis of their decisions. All methods throw a ProblemError 503 if there is no Redis to ask, or no answer. */
export class LiveReports {
  private readonly usage: RedisUsageStore | undefined;
  private readonly receipts: RedisReceiptStore | undefined;
  private readonly keys: RedisTopKeyStore | undefined;
  private readonly unreadable = new Map<string, number>();

  constructor(redis: RedisConnection | undefined) {
    if (redis === undefined) return;
    this.usage = new RedisUsageStore(redis);
    this.keys = new RedisTopKeyStore(redis);
    this.receipts = new RedisReceiptStore(redis, ({ reason }) => this.unreadable.set(reason, (this.unreadable.get(reason) ?? 0) + 1));
  }

  /** Counts receipts that this version cannot read. */
  register(registry: Registry): void {
    const { unreadable } = this;
    new Counter({
      name: 'tollgate_rules_api_unreadable_receipts_total',
      help: 'Receipts of decisions that were read from Redis and ignored, by why',
      labelNames: ['reason'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [reason, count] of unreadable) this.inc({ reason }, count);
      },
    });
  }

  /** By the clock of Redis, which is the one of all counts. Milliseconds. */
  nowMs(): Promise<number> {
    return answered(this.usage, (usage) => usage.nowMs());
  }

  usageOf(merchantIds: readonly string[], fromMs: number, untilMs: number): Promise<Map<string, UsageStep[]>> {
    return answered(this.usage, (usage) => usage.read(merchantIds, fromMs, untilMs));
  }

  /** What became of the requests under some rules of merchants, by their places. */
  usageOfRules(rules: readonly RankedRule[], fromMs: number, untilMs: number): Promise<UsageStep[][]> {
    return answered(this.usage, (usage) => usage.readRules(rules, fromMs, untilMs));
  }

  /**
   * What became of the requests under a rule within the last day, and until when by the clock of Redis. Undefined where Redis does not say so at once: then
   * whoever asked goes without.
   */
  async lastDayOf(rule: RankedRule): Promise<LastDay | undefined> {
    if (this.usage === undefined) return undefined;
    return withDeadline(this.usage.lastDay(rule, Date.now()), QUICK_DEADLINE_MS).catch(() => undefined);
  }

  usageOfOthers(fromMs: number, untilMs: number): Promise<UsageStep[]> {
    return answered(this.usage, (usage) => usage.readOther(fromMs, untilMs));
  }

  ranked(rank: 'refused' | 'near', fromMs: number, untilMs: number, most: number): Promise<RankedRule[]> {
    return answered(this.usage, (usage) => usage.ranked(rank, fromMs, untilMs, most));
  }

  /** @param merchants whose keys may be seen; null: everybody's */
  topKeys(rank: TopKeyRank, fromMs: number, untilMs: number, merchants: readonly string[] | null): Promise<RankedKeys> {
    return answered(this.keys, (keys) => keys.ranked(rank, fromMs, untilMs, merchants));
  }

  /** @param merchants whose receipts may be seen; null: everybody's */
  receipt(requestId: string, merchants: SeenMerchants): Promise<DecisionReceipt | undefined> {
    return answered(this.receipts, (receipts) => receipts.find(requestId, merchants));
  }

  receiptsAfter(cursor: string, limit: number, filter: ReceiptFilter): Promise<ReceiptPage> {
    return answered(this.receipts, (receipts) => receipts.after(cursor, limit, filter));
  }

  /** @param cursor undefined: the newest */
  receiptsBefore(cursor: string | undefined, merchantId: string): Promise<ReceiptsBefore> {
    return answered(this.receipts, (receipts) => receipts.before(cursor, merchantId));
  }

  newestReceipts(limit: number, filter: ReceiptFilter): Promise<ReceiptPage> {
    return answered(this.receipts, (receipts) => receipts.newest(limit, filter));
  }
}

async function answered<S, T>(store: S | undefined, question: (store: S) => Promise<T>): Promise<T> {
  if (store === undefined) throw bucketsUnavailable('this Rules API knows no Redis: set BUCKETS_REDIS_URL');
  try {
    return await withDeadline(question(store), DEADLINE_MS);
  } catch (error) {
    // Whoever chooses among merchants says by itself what went wrong.
    throw error instanceof ProblemError ? error : bucketsUnavailable('Redis does not answer; ask again later');
  }
}
