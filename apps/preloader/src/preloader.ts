import { allReadCompactSnapshots, RedisSnapshotStore } from '#limiter-redis';
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
import { FailedJobs } from './jobs/failed-jobs.js';
import { limitEvents } from './limit-events/limit-events.js';
import { overrideEnds } from './overrides/override-ends.js';
import type { Rounds } from './rounds.js';
import { PreloaderMetrics } from './metrics.js';
import { Dependencies } from './dependencies.js';
import { connectRedis, type RedisConnections } from './redis-connections.js';
import { MerchantReload } from './reload/merchant-reload.js';

/** How many reloads of single merchants run at once. A reload that fails or waits for its retry delays none of the others. */
const RELOADS_AT_ONCE = 8;

/** A reload that takes longer than this many milliseconds counts as failed: a frozen PostgreSQL or Redis never answers. */
const RELOAD_TIMEOUT_MS = 15_000;

/** Connections to PostgreSQL: one for each reload, and one each for the relay, the full preload, its next chunk, health, and what is told. */
const POSTGRES_CONNECTIONS = RELOADS_AT_ONCE + 5;
const STATEMENT_TIMEOUT_MS = 10_000;

/** A snapshot lives for this many intervals between full preloads, and for at least MIN_SNAPSHOT_LIFE_MS. */
const SNAPSHOT_LIFE_INTERVALS = 4;
const MIN_SNAPSHOT_LIFE_MS = 3_600_000;

/** How long snapshots live in Redis, in milliseconds, unless a full preload or a change renews them. */
function snapshotTtlMs(preloadIntervalMs: number): number {
  return Math.max(MIN_SNAPSHOT_LIFE_MS, SNAPSHOT_LIFE_INTERVALS * preloadIntervalMs);
}

export interface PreloaderOptions {
  readonly config: Config<'preloader'>;
  readonly logger: Logger;
  readonly health: Health;
  readonly registry: Registry;
}

/** The relay, the two workers and the schedule, with their connections. */
export class Preloader {
  readonly failedJobs: FailedJobs;
  private readonly database: Database;
  private readonly redis: RedisConnections;
  private readonly dependencies: Dependencies;
  private readonly metrics: PreloaderMetrics;
  private readonly reloads: ReloadQueue;
  private readonly preloads: PreloadQueue;
  private readonly relay: OutboxRelay;
  private readonly reloadWorker: JobWorker<ReloadJobData>;
  private readonly preloadWorker: JobWorker<PreloadJobData>;
  private readonly schedule: PreloadSchedule;
  /** Ends of overrides and limits that are nearly used, for history and webhooks. */
  private readonly told: readonly Rounds[];
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
    this.dependencies = new Dependencies(dataSource, [this.redis.buckets, this.redis.snapshots]);
    this.reloads = new ReloadQueue(this.redis.producer);
    this.preloads = new PreloadQueue(this.redis.producer);
    this.failedJobs = new FailedJobs(this.redis.producer, this.reloads, this.preloads);
    this.metrics = new PreloaderMetrics(registry, () => this.failedJobs.count());
    const reader = new RuleReader(dataSource);
    this.relay = this.createRelay();
    this.reloadWorker = this.createReloadWorker(reader);
    this.preloadWorker = this.createPreloadWorker(reader);
    this.schedule = new PreloadSchedule(this.preloads, config.preloadIntervalMs, logger);
    const onUnreadable = () => this.metrics.unreadable('limit_event');
    this.told = [overrideEnds(dataSource, logger), limitEvents({ dataSource, redis: this.redis.buckets, logger, onUnreadable })];
    this.addChecks();
  }

  /** Starts everything at once. Nothing waits for something else, and nothing needs PostgreSQL or Redis to be available already. */
  start(): void {
    for (const component of [this.database, this.relay, this.reloadWorker, this.preloadWorker, this.schedule, ...this.told])
      component.start();
  }

  /** Gives jobs at work back to the queue, or leaves them for another replica to resume, and closes every connection. */
  async stop(): Promise<void> {
    this.stopping.abort();
    // Without Redis no job can report its end, so there is nothing to wait for. The rest of the grace is for closing connections.
    const graceMs = this.redis.worker.status === 'ready' ? this.options.config.shutdownGraceMs * 0.8 : 0;
    await Promise.all([
      this.relay.stop(),
      ...this.told.map((rounds) => rounds.stop()),
      this.schedule.stop(),
      this.reloadWorker.stop(graceMs),
      this.preloadWorker.stop(graceMs),
    ]);
    await Promise.all([this.reloads.handle.close(), this.preloads.handle.close()]);
    this.redis.close();
    await this.database.stop();
  }

  private createRelay(): OutboxRelay {
    const { logger } = this.options;
    return new OutboxRelay({
      drain: (max, publish, from) =>
        drainOutbox(
          this.database.dataSource,
          max,
          publish,
          ({ id }) => {
            this.metrics.unreadable('outbox');
            logger.error({ outboxRow: id }, 'a row of the outbox names neither a merchant nor a plan and is deleted');
          },
          from,
        ),
      enqueue: (reloads, urgency) => this.reloads.enqueue(reloads, urgency),
      canEnqueue: () => this.database.dataSource.isInitialized && this.reloads.handle.connected,
      onRelayed: (rows) => this.metrics.outboxRelayed.inc(rows),
      onFailing: (err) => logger.warn({ err }, 'rule changes cannot be relayed to the queue, they wait in the outbox'),
      onHealed: () => logger.info('rule changes are relayed again'),
    });
  }

  private snapshotStore(): RedisSnapshotStore {
    const { buckets, snapshots } = this.redis;
    // Those who read snapshots say that they are alive where the buckets are.
    return new RedisSnapshotStore(snapshots, undefined, { compact: () => allReadCompactSnapshots(buckets) });
  }

  private createReloadWorker(reader: RuleReader): JobWorker<ReloadJobData> {
    const { config, logger } = this.options;
    const { metrics, dependencies, redis, failedJobs } = this;
    const reload = new MerchantReload({
      reader,
      store: this.snapshotStore(),
      redis: redis.buckets,
      metrics,
      ttlMs: snapshotTtlMs(config.preloadIntervalMs),
    });
    return new JobWorker({
      queue: RELOAD_QUEUE,
      redis: redis.worker,
      concurrency: RELOADS_AT_ONCE,
      lockMs: config.jobLockMs,
      dependencies,
      logger,
      read: readReloadJob,
      handle: async (data) => {
        const outcome = await withDeadline(reload.run(data), RELOAD_TIMEOUT_MS, { what: 'reloading a merchant' });
        metrics.reload(outcome);
        logger.debug({ merchantId: data.merchantId, plan: data.plan, version: data.version, outcome }, 'a merchant is reloaded');
        await failedJobs.clear(data);
        return outcome;
      },
      onUnreadable: () => metrics.unreadable('job'),
      onPostponed: () => metrics.reload('postponed'),
      onRetried: () => metrics.reload('retried'),
      onFailed: (job) => {
        metrics.reload('failed');
        failedJobs
          .record(job)
          .catch((err: unknown) =>
            logger.warn({ err, jobId: job.id }, 'the list of failed jobs may still show an earlier job of the same merchant'),
          );
      },
    });
  }

  private createPreloadWorker(reader: RuleReader): JobWorker<PreloadJobData> {
    const { config, logger } = this.options;
    const { metrics, dependencies, redis } = this;
    const preload = new FullPreload({
      reader,
      store: this.snapshotStore(),
      redis: redis.buckets,
      dependencies,
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
      dependencies,
      logger,
      read: readPreloadJob,
      handle: (data, preloadJob, token) => job.run(data, preloadJob, token),
      onUnreadable: () => metrics.unreadable('job'),
      onFailed: () => undefined,
    });
  }

  private addChecks(): void {
    const { health } = this.options;
    health.addCheck('postgres', () => this.dependencies.postgres());
    health.addCheck('redis', () => this.dependencies.redisAnswers());
    health.addCheck('queue', () => {
      this.reloadWorker.assertRunning();
      this.preloadWorker.assertRunning();
    });
  }
}
