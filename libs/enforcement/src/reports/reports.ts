import type { Descriptor, Verdict } from '#limiter';
import {
  RedisLimitEventStore,
  RedisReceiptStore,
  removeOverlongKeys,
  RedisTopKeyStore,
  RedisUsageStore,
  type RedisConnection,
} from '#limiter-redis';
import { counter, counterBy } from '#metrics';
import { withDeadline } from '#waiting';
import type { Registry } from 'prom-client';
import type { EnforcerSettings } from '../enforcer-options.js';
import type { NoVerdict } from '../outcome.js';
import { BusyKeys } from './busy-keys.js';
import { KeySpikes } from './key-spikes.js';
import { LimitEvents } from './limit-events.js';
import { LimitNotes } from './limit-notes.js';
import { receiptOf } from './receipt.js';
import { ReceiptQueue } from './receipt-queue.js';
import { SaidOnce } from './said-once.js';
import { UsageCounters, type UsageKeeper } from './usage-counters.js';
import { UsageFlush } from './usage-flush.js';

/** Often, so that a flood of refusals is written a few at a time: those of a tenth of a second hold all requests up for half a millisecond. */
const WRITE_RECEIPTS_EVERY_MS = 20;
/** Seldom, because a key that comes again and again stands out the better the longer it is watched. */
const TELL_KEYS_EVERY_MS = 60_000;
/** What takes longer is tried again with the next flush. */
const DEADLINE_MS = 2000;
/** The last flush of a gateway that stops. */
const LAST_DEADLINE_MS = 1000;

type Settings = Pick<
  EnforcerSettings,
  | 'logger'
  | 'registry'
  | 'usageFlushMs'
  | 'receiptsPerSecond'
  | 'receiptsPassedOneIn'
  | 'receiptsKept'
  | 'receiptsPerMerchant'
  | 'receiptHashKey'
>;

export interface ReportsOptions {
  readonly settings: Settings;
  /** The name of this gateway. */
  readonly gateway: string;
  readonly redis: RedisConnection;
  /** Whether there is a merchant of this id, as far as this process knows. */
  readonly isMerchant: (merchantId: string) => boolean;
  /** Milliseconds that never step back. */
  readonly now?: () => number;
}

/** Tells Redis what was decided: numbers by merchant, rule and minute, limits that are nearly or wholly used, and receipts of single decisions. No request waits for it. */
export class Reports {
  private readonly counters: UsageCounters;
  private readonly usage: UsageFlush;
  private readonly limits: LimitNotes;
  private readonly spikes: KeySpikes;
  private readonly limitEvents: LimitEvents;
  private readonly keys: BusyKeys;
  private readonly topKeys: RedisTopKeyStore;
  private readonly queue: ReceiptQueue;
  private readonly receipts: RedisReceiptStore;
  private readonly said = new SaidOnce<string>();
  private readonly now: () => number;
  private timers: NodeJS.Timeout[] = [];
  private written = 0;
  private beyondShare = 0;
  private receiptFailures = 0;
  private writing: Promise<void> | undefined;
  private keysToldMs: number;
  private keyFailures = 0;

  constructor(private readonly options: ReportsOptions) {
    const { gateway, isMerchant, redis, settings } = options;
    const now = (this.now = options.now ?? (() => performance.now()));
    const usageStore = new RedisUsageStore(redis, () => void this.removeOverlong());
    this.counters = new UsageCounters({ isMerchant });
    this.usage = new UsageFlush({
      gateway,
      take: () => this.counters.take(),
      send: (batch, ageMs) => this.inTime('usage', usageStore.add(batch, ageMs)),
      now,
    });
    this.limits = new LimitNotes({ isMerchant, now });
    this.spikes = new KeySpikes({ isMerchant, now, secret: settings.receiptHashKey });
    const limitStore = new RedisLimitEventStore(redis);
    this.limitEvents = new LimitEvents({
      notes: this.limits,
      spikes: this.spikes,
      send: (events) => this.inTime('limit_events', limitStore.add(events)),
      now,
    });
    this.keys = new BusyKeys({ isMerchant, now, secret: settings.receiptHashKey });
    this.topKeys = new RedisTopKeyStore(redis);
    this.keysToldMs = now();
    this.queue = new ReceiptQueue({ perSecond: settings.receiptsPerSecond, passedOneIn: settings.receiptsPassedOneIn, isMerchant, now });
    this.receipts = new RedisReceiptStore(redis);
    this.register(settings.registry);
  }

  start(): void {
    const { receiptsPerSecond, usageFlushMs } = this.options.settings;
    if (usageFlushMs > 0) this.timers.push(setInterval(() => void this.flushUsage(), usageFlushMs));
    if (receiptsPerSecond > 0) this.timers.push(setInterval(() => void this.writeReceipts(), WRITE_RECEIPTS_EVERY_MS));
  }

  /** @param requestId '' if the request has none. @param keeper of the merchant of the descriptor */
  verdict(requestId: string, descriptor: Descriptor, verdict: Verdict, keeper?: UsageKeeper): void {
    if (this.options.settings.usageFlushMs > 0) {
      this.counters.count(descriptor.merchantId, verdict, keeper);
      this.limits.note(descriptor.merchantId, verdict);
      this.keys.count(descriptor, verdict);
      if (!verdict.allowed) this.spikes.refused(descriptor, verdict);
    }
    this.queue.offer(requestId, descriptor, verdict);
  }

  noVerdict(requestId: string, descriptor: Descriptor, outcome: NoVerdict): void {
    this.queue.offer(requestId, descriptor, outcome);
  }

  /** Sends what is left, within a second. Never rejects. */
  async stop(): Promise<void> {
    for (const timer of this.timers.splice(0)) clearInterval(timer);
    const receipts = async (): Promise<void> => {
      await this.writing;
      await this.writeReceipts();
    };
    await withDeadline(Promise.all([this.flushUsage(), this.tellKeys(), receipts()]), LAST_DEADLINE_MS).catch(() => {});
  }

  /** Never rejects. */
  private async flushUsage(): Promise<void> {
    const keys = this.now() - this.keysToldMs < TELL_KEYS_EVERY_MS ? undefined : this.tellKeys();
    await Promise.all([this.usage.flush(), this.limitEvents.flush(), keys]);
  }

  /** What was written while the clock of Redis was far ahead would live until then. Never rejects. */
  private async removeOverlong(): Promise<void> {
    const { redis, settings } = this.options;
    const outcome = await removeOverlongKeys(redis).then(
      (removed) => ({ removed }),
      (err: unknown) => ({ err }),
    );
    settings.logger.warn(outcome, 'the clock of Redis has stepped back; keys that would live until it is where it was are removed');
  }

  /** What could not be told is dropped: ranks are estimates, and told twice it would make them worse than not at all. Never rejects. */
  private async tellKeys(): Promise<void> {
    this.keysToldMs = this.now();
    const counts = this.keys.take();
    if (counts.length === 0) return;
    try {
      await this.inTime('top_keys', this.topKeys.add(counts));
    } catch {
      this.keyFailures++;
    }
  }

  /** One at a time: what is noted while Redis is slow waits in the queue, which is bounded. */
  private writeReceipts(): Promise<void> {
    this.writing ??= this.writeNoted().finally(() => (this.writing = undefined));
    return this.writing;
  }

  /** If it fails, what was on its way is written again: a receipt may then be there twice. */
  private async writeNoted(): Promise<void> {
    const noted = this.queue.take();
    if (noted.length === 0) return;
    const { isMerchant, settings } = this.options;
    const context = { nowMs: this.now(), isMerchant, secret: settings.receiptHashKey, passedOneIn: settings.receiptsPassedOneIn };
    const bounds = { most: settings.receiptsKept, perMinute: settings.receiptsPerMerchant };
    try {
      const receipts = noted.map((each) => receiptOf(each, context));
      const written = await this.inTime('receipts', this.receipts.add(receipts, bounds));
      this.written += written;
      this.beyondShare += receipts.length - written;
    } catch {
      this.receiptFailures++;
      this.queue.putBack(noted);
    }
  }

  private async inTime<T>(what: string, work: Promise<T>): Promise<T> {
    try {
      return await withDeadline(work, DEADLINE_MS);
    } catch (err) {
      if (this.said.isNews(what, this.now()))
        this.options.settings.logger.warn({ err, what }, 'what was decided could not be told to Redis');
      throw err;
    }
  }

  private register(registry: Registry): void {
    const { limitEvents, queue, usage } = this;
    const failures = () => [
      [['usage'], usage.failures] as const,
      [['receipts'], this.receiptFailures] as const,
      [['limit_events'], limitEvents.failures] as const,
      [['top_keys'], this.keyFailures] as const,
    ];
    const dropped = () => labelled([...Object.entries(queue.notNoted), ['merchant_share', this.beyondShare]]);
    counterBy(registry, 'tollgate_report_failures_total', 'Flushes of counts and receipts to Redis that failed.', ['what'], failures);
    counterBy(
      registry,
      'tollgate_limit_events_dropped_total',
      'Notes of limits that are nearly or wholly used that nobody is told of, by the bound that they met.',
      ['reason'],
      () => labelled(Object.entries(limitEvents.dropped)),
    );
    counterBy(
      registry,
      'tollgate_receipts_dropped_total',
      'Receipts that were not written, by the bound that they met.',
      ['reason'],
      dropped,
    );
    counter(registry, 'tollgate_receipts_written_total', 'Receipts of decisions that were written to Redis.', () => this.written);
    counter(
      registry,
      'tollgate_usage_dropped_total',
      'Requests whose counts were dropped because Redis was away for too long.',
      () => usage.dropped,
    );
  }
}

function labelled(counts: readonly (readonly [value: string, count: number])[]): (readonly [string[], number])[] {
  return counts.map(([value, count]) => [[value], count]);
}
