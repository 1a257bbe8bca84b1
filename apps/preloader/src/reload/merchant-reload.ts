import { carryOverBuckets, preloadBuckets, type RedisSnapshotStore, type RedisConnection } from '#limiter-redis';
import type { ReloadJobData } from '#rule-sync';
import type { RuleReader } from '#rules-db';
import type { PreloaderMetrics } from '../metrics.js';

export interface MerchantReloadOptions {
  readonly reader: RuleReader;
  readonly store: RedisSnapshotStore;
  readonly redis: RedisConnection;
  readonly metrics: PreloaderMetrics;
  /** How long a snapshot lives in Redis, in milliseconds, unless it is written again. */
  readonly ttlMs: number;
}

/**
 * Copies one changed merchant, a plan or the default rules from PostgreSQL to Redis and tells the gateways. The version in the job does
 * not matter: PostgreSQL is read now, and Redis keeps the newer of the two snapshots.
 */
export class MerchantReload {
  constructor(private readonly options: MerchantReloadOptions) {}

  async run({ merchantId, plan, changedAtMs }: ReloadJobData): Promise<'written' | 'not_newer' | 'missing'> {
    const { store, metrics } = this.options;
    const outcome =
      plan !== undefined
        ? await this.copyPlan(plan)
        : merchantId === null
          ? await this.copyDefaultRules()
          : await this.copyMerchant(merchantId);
    if (outcome === 'missing') return outcome;
    // Also if Redis already had this version: an earlier attempt may have died between writing and announcing.
    await (plan === undefined ? store.announce([merchantId]) : store.announcePlans([plan]));
    if (outcome === 'written') metrics.snapshotsWritten.inc();
    if (changedAtMs !== null) metrics.announced(changedAtMs, Date.now());
    return outcome;
  }

  private async copyDefaultRules(): Promise<'written' | 'not_newer'> {
    const snapshot = await this.options.reader.defaultRules();
    return (await this.options.store.writeDefaultRules(snapshot)) ? 'written' : 'not_newer';
  }

  /** Its merchants are left alone: their snapshots name it, and their gateways read it once for all. */
  private async copyPlan(plan: string): Promise<'written' | 'not_newer' | 'missing'> {
    const snapshot = await this.options.reader.plan(plan);
    if (snapshot === null) return 'missing';
    return (await this.options.store.writePlan(snapshot)) ? 'written' : 'not_newer';
  }

  private async copyMerchant(merchantId: string): Promise<'written' | 'not_newer' | 'missing'> {
    const { reader, store, redis, ttlMs } = this.options;
    const snapshot = await reader.snapshot(merchantId);
    if (snapshot === null) return 'missing';
    const { written, newer } = await store.write([snapshot], ttlMs);
    if (newer === 0) await Promise.all([preloadBuckets(redis, [snapshot], ttlMs), carryOverBuckets(redis, snapshot)]);
    return written > 0 ? 'written' : 'not_newer';
  }
}
