import type { Redis } from 'ioredis';
import type { DataSource } from 'typeorm';
import { startLimits } from '#limiter';
import { createRedis, RedisSnapshotStore } from '#limiter-redis';
import { PreloadQueue } from '#rule-sync';
import { createDataSource, MerchantRepository, migrate, RuleRepository } from '#rules-db';
import { ruleSpec } from '../../support/factories/rules.js';
import { type RunningApp, startApp, type StartOptions } from '../../support/processes.js';
import { freshDatabase, freshRedis, type TestRedis } from '../../support/services.js';

/** What a preloader lives in: a migrated database, a Redis of its own, and the ways to look into both. */
export class House {
  private readonly running: RunningApp[] = [];

  private constructor(
    readonly databaseUrl: string,
    readonly dataSource: DataSource,
    readonly redisServer: TestRedis,
    readonly redis: Redis,
    private readonly dropDatabase: () => Promise<void>,
  ) {}

  static async open(database?: { url: string; readonly drop: () => Promise<void> }): Promise<House> {
    const [{ url, drop }, redisServer] = await Promise.all([database ?? freshDatabase({ migrated: true }), freshRedis()]);
    const dataSource = createDataSource(url);
    if (database) await migrate(dataSource);
    await dataSource.initialize();
    return new House(url, dataSource, redisServer, createRedis(redisServer.url, 'subscriber') as Redis, drop);
  }

  get merchants(): MerchantRepository {
    return new MerchantRepository(this.dataSource);
  }

  get rules(): RuleRepository {
    return new RuleRepository(this.dataSource);
  }

  get snapshots(): RedisSnapshotStore {
    return new RedisSnapshotStore(this.redis);
  }

  get preloads(): PreloadQueue {
    return new PreloadQueue(this.redis);
  }

  async preloader(env: Record<string, string> = {}, options: StartOptions = {}): Promise<RunningApp> {
    const app = await startApp(
      'preloader',
      { DATABASE_URL: this.databaseUrl, REDIS_URL: this.redisServer.url, JOB_LOCK_MS: '3000', LOG_LEVEL: 'debug', ...env },
      { readyWithinMs: 60_000, ...options },
    );
    this.running.push(app);
    return app;
  }

  /** Merchants m-00000 and on, each with one rule, written as a restored dump would be: without outbox rows. */
  async manyMerchants(count: number): Promise<void> {
    const limits = JSON.stringify(startLimits(ruleSpec().limits, Date.now()));
    await this.dataSource.query(
      `INSERT INTO merchant (id, name, time_zone, version, rules_version)
       SELECT 'm-' || lpad(n::text, 5, '0'), 'Merchant', 'Etc/UTC', 1, 1 FROM generate_series(0, $1::int - 1) n`,
      [count],
    );
    await this.dataSource.query(
      `INSERT INTO rule (merchant_id, name, layer, priority, enabled, mode, match, key, limits, cost, on_store_failure, version)
       SELECT id, 'burst', 'merchant', 1, true, 'enforce', '{"methods":[],"paths":[]}', '["merchant"]', $1::jsonb, 1, 'local', 1 FROM merchant`,
      [limits],
    );
  }

  async outboxRows(): Promise<number> {
    const [{ count }] = (await this.dataSource.query('SELECT count(*)::int AS count FROM outbox')) as [{ count: number }];
    return count;
  }

  async close(): Promise<void> {
    await Promise.all(this.running.map((app) => app.kill()));
    this.redis.disconnect();
    await this.redisServer.stop();
    if (this.dataSource.isInitialized) await this.dataSource.destroy();
    await this.dropDatabase();
  }
}

/** The value of one series of an app's metrics, 0 if it has none; the label `app` need not be named. */
export async function metric(app: RunningApp, name: string, labels: Record<string, string> = {}): Promise<number> {
  const text = await (await fetch(`${app.managementUrl}/metrics`)).text();
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const line = text.split('\n').find((each) => new RegExp(`^${name}[{ ]`).test(each) && wanted.every((label) => each.includes(label)));
  return line === undefined ? 0 : Number(line.slice(line.lastIndexOf(' ') + 1));
}

export interface FailedJobsAnswer {
  total: number;
  items: { id: string; merchant: string | null; version: number; error: string; attempts: number; when: string }[];
}

export async function failedJobs(app: RunningApp): Promise<FailedJobsAnswer> {
  return (await (await fetch(`${app.managementUrl}/jobs/failed`)).json()) as FailedJobsAnswer;
}
