import { RedisSnapshotStore } from '#limiter-redis';
import { withDeadline } from '#waiting';
import type { Config, Health, Logger } from '#platform';
import {
  OutboxRelay,
  PRELOAD_QUEUE,
  type PreloadJobData,
  PreloadQueue,
  readPreloadJob,
  readReloadJob,
  RELOAD_QUEUE,
  type ReloadJobData,
  ReloadQueue,
} from '#rule-sync';
import { createDataSource, drainOutbox, RuleReader } from '#rules-db';
import type { Registry } from 'prom-client';
import { Database } from './database.js';
import { FullPreload } from './full-preload/full-preload.js';
import { PreloadJob } from './full-preload/preload-job.js';
import { PreloadSchedule } from './full-preload/preload-schedule.js';
import { JobWorker } from './jobs/job-worker.js';
import { SetAside } from './jobs/set-aside.js';
import { PreloaderMetrics } from './metrics.js';
import { Parts } from './parts.js';
import { connectRedis, type RedisConnections } from './redis-connections.js';
import { MerchantReload } from './reload/merchant-reload.js';

/** Reloads of single merchants at once. One that fails or waits for its retry holds up none of the others. */
const RELOADS_AT_ONCE = 8;

/** A reload that takes longer counts as failed: a PostgreSQL or Redis that is frozen says nothing at all. */
const RELOAD_TIMEOUT_MS = 15_000;

/** Connections to PostgreSQL: the reloads, the relay, the full preload's reading ahead, health. */
const POSTGRES_CONNECTIONS = RELOADS_AT_ONCE + 4;
const STATEMENT_TIMEOUT_MS = 10_000;

/** A snapshot outlives this many missed full preloads, and at least an hour. */
const SNAPSHOT_LIFE_INTERVALS = 4;
const MIN_SNAPSHOT_LIFE_MS = 3_600_000;

/** How long snapshots live in Redis unless a full preload or a change renews them, in milliseconds. */
export function snapshotTtlMs(preloadIntervalMs: number): number {
  return Math.max(MIN_SNAPSHOT_LIFE_MS, SNAPSHOT_LIFE_INTERVALS * preloadIntervalMs);
}

export interface PreloaderOptions {
  readonly config: Config<'preloader'>;
  readonly logger: Logger;
  readonly health: Health;
  readonly registry: Registry;
}

/** Everything the preloader does, wired together: the relay, the two workers, and the schedule. */
export class Preloader {
  readonly setAside: SetAside;
  private readonly database: Database;
  private readonly redis: RedisConnections;
  private readonly parts: Parts;
  private readonly metrics: PreloaderMetrics;
  private readonly reloads: ReloadQueue;
  private readonly preloads: PreloadQueue;
  private readonly relay: OutboxRelay;
  private readonly reloadWorker: JobWorker<ReloadJobData>;
  private readonly preloadWorker: JobWorker<PreloadJobData>;
  private readonly schedule: PreloadSchedule;
  private readonly stopping = new AbortController();

  constructor(private readonly options: PreloaderOptions) {
    const { config, logger, registry } = options;
    const dataSource = createDataSource(config.databaseUrl, {
      poolSize: POSTGRES_CONNECTIONS,
      applicationName: 'tollgate-preloader',
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    });
    this.database = new Database(dataSource, logger);
    this.redis = connectRedis(config, logger);
    this.parts = new Parts(dataSource, this.redis.data);
    this.reloads = new ReloadQueue(this.redis.producer);
    this.preloads = new PreloadQueue(this.redis.producer);
    this.setAside = new SetAside(this.redis.producer, this.reloads, this.preloads);
    this.metrics = new PreloaderMetrics(registry, () => this.setAside.count());
    const reader = new RuleReader(dataSource);
    this.relay = this.createRelay();
    this.reloadWorker = this.createReloadWorker(reader);
    this.preloadWorker = this.createPreloadWorker(reader);
    this.schedule = new PreloadSchedule(this.preloads, config.preloadIntervalMs, logger);
    this.addChecks();
  }

  /** Starts every part; none waits for another, and none needs PostgreSQL or Redis to be there already. */
  start(): void {
    for (const part of [this.database, this.relay, this.reloadWorker, this.preloadWorker, this.schedule]) part.start();
  }

  /** Hands back what is at work, or leaves it for another replica to resume, and lets go of every connection. */
  async stop(): Promise<void> {
    this.stopping.abort();
    // Without Redis no job can report its end, so there is nothing to wait for. Some of the grace is left to hang up in.
    const graceMs = this.redis.worker.status === 'ready' ? this.options.config.shutdownGraceMs * 0.8 : 0;
    await Promise.all([this.relay.stop(), this.schedule.stop(), this.reloadWorker.stop(graceMs), this.preloadWorker.stop(graceMs)]);
    await Promise.all([this.reloads.handle.close(), this.preloads.handle.close()]);
    this.redis.close();
    await this.database.stop();
  }

  private createRelay(): OutboxRelay {
    const { logger } = this.options;
    return new OutboxRelay({
      drain: (max, publish) =>
        drainOutbox(this.database.dataSource, max, publish, ({ id }) => {
          this.metrics.unreadable('outbox');
          logger.error({ outboxRow: id }, 'a row of the outbox names no merchant and is deleted');
        }),
      enqueue: (reloads) => this.reloads.enqueue(reloads),
      canEnqueue: () => this.database.dataSource.isInitialized && this.reloads.handle.connected,
      onRelayed: (rows) => this.metrics.outboxRelayed.inc(rows),
      onFailing: (err) => logger.warn({ err }, 'changes cannot be relayed to the queue, they wait in the outbox'),
      onHealed: () => logger.info('changes are relayed again'),
    });
  }

  private createReloadWorker(reader: RuleReader): JobWorker<ReloadJobData> {
    const { config, logger } = this.options;
    const { metrics, parts, redis, setAside } = this;
    const reload = new MerchantReload({
      reader,
      store: new RedisSnapshotStore(redis.data),
      redis: redis.data,
      metrics,
      ttlMs: snapshotTtlMs(config.preloadIntervalMs),
    });
    return new JobWorker({
      queue: RELOAD_QUEUE,
      redis: redis.worker,
      concurrency: RELOADS_AT_ONCE,
      lockMs: config.jobLockMs,
      parts,
      logger,
      read: readReloadJob,
      handle: async (data) => {
        const outcome = await withDeadline(reload.run(data), RELOAD_TIMEOUT_MS, { what: 'reloading a merchant' });
        metrics.reload(outcome);
        logger.debug({ merchantId: data.merchantId, version: data.version, outcome }, 'merchant reloaded');
        await setAside.clear(data.merchantId);
        return outcome;
      },
      onUnreadable: () => metrics.unreadable('job'),
      onPostponed: () => metrics.reload('postponed'),
      onRetried: () => metrics.reload('retried'),
      onSetAside: (job) => {
        metrics.reload('set_aside');
        setAside
          .record(job)
          .catch((err: unknown) => logger.warn({ err, jobId: job.id }, 'an earlier job of the same merchant may stay listed'));
      },
    });
  }

  private createPreloadWorker(reader: RuleReader): JobWorker<PreloadJobData> {
    const { config, logger } = this.options;
    const { metrics, parts, redis } = this;
    const preload = new FullPreload({
      reader,
      store: new RedisSnapshotStore(redis.data),
      redis: redis.data,
      parts,
      metrics,
      logger,
      enqueueReloads: (reloads) => this.reloads.enqueue(reloads),
      chunkMerchants: config.preloadChunkMerchants,
      ttlMs: snapshotTtlMs(config.preloadIntervalMs),
    });
    const job = new PreloadJob({ preload, metrics, logger, lockMs: config.jobLockMs, signal: this.stopping.signal });
    return new JobWorker({
      queue: PRELOAD_QUEUE,
      redis: redis.worker,
      concurrency: 1,
      lockMs: config.jobLockMs,
      parts,
      logger,
      read: readPreloadJob,
      handle: (data, preloadJob, token) => job.run(data, preloadJob, token),
      onUnreadable: () => metrics.unreadable('job'),
      onSetAside: () => undefined,
    });
  }

  private addChecks(): void {
    const { health } = this.options;
    health.addCheck('postgres', () => this.parts.postgres());
    health.addCheck('redis', () => this.parts.redisAnswers());
    health.addCheck('queue', () => {
      this.reloadWorker.assertRunning();
      this.preloadWorker.assertRunning();
    });
  }
}
