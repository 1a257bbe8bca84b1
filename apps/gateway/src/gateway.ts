import { randomUUID } from 'node:crypto';
import { MemoryBucketStore, RateLimiter } from '#limiter';
import { ChangeFeed, createRedis, MOST_BUSY_MERCHANTS, RedisBucketStore, RedisSnapshotStore, reportLoad, withDeadline, writeBusyMerchants } from '#limiter-redis';
import type { Config, Health, Logger } from '#platform';
import { connectWhenUp, createDataSource, RuleReader } from '#rules-db';
import { Gauge, type Registry } from 'prom-client';
import { createIdentifier, createTrust } from './identity/index.js';
import { Outcome, ProxyMetrics, ProxyServer } from './proxy/index.js';
import { RequestAdmission } from './rate-limit/admission.js';
import { ColdRules } from './rate-limit/cold-rules.js';
import { DecisionMetrics } from './rate-limit/decision-metrics.js';
import { RuleCache } from './rate-limit/rule-cache.js';
import { MeasuredSpareCapacity } from './rate-limit/spare-capacity.js';
import { StoreHealth } from './store-health.js';
import { warmUp } from './warm-up.js';

export interface GatewayOptions {
  readonly config: Config<'gateway'>;
  readonly logger: Logger;
  readonly health: Health;
  readonly registry: Registry;
}

/** A first request of a merchant may take this long to learn its rules. While Redis is away it gets no longer than a take. */
const RULES_DEADLINE_MS = 2000;
const RETRY_MS = 500;
const SUMMARY_EVERY_MS = 2000;
const TELL_BUSY_MERCHANTS_EVERY_MS = 30_000;

/** The parts of a gateway and how they hang together; starts and stops them in order. */
export class Gateway {
  private readonly redis;
  private readonly subscriber;
  private readonly dataSource;
  private readonly store: RedisBucketStore;
  private readonly storeHealth: StoreHealth;
  private readonly rules: RuleCache;
  private readonly limiter: RateLimiter;
  private readonly changes: ChangeFeed;
  private readonly decisions: DecisionMetrics;
  private readonly proxy: ProxyServer;
  private readonly spareCapacity: MeasuredSpareCapacity;
  private readonly stopping = new AbortController();
  private summary: NodeJS.Timeout | undefined;
  private busyTeller: NodeJS.Timeout | undefined;

  constructor(private readonly options: GatewayOptions) {
    const { config, logger, registry } = options;
    this.redis = createRedis(config.redisUrl, 'limiter');
    this.subscriber = createRedis(config.redisUrl, 'subscriber');
    this.dataSource = createDataSource(config.databaseUrl, { poolSize: 8, applicationName: 'tollgate-gateway', statementTimeoutMs: 2000 });
    this.storeHealth = new StoreHealth({ logger, registry });
    this.store = new RedisBucketStore(this.redis, {
      deadlineMs: config.storeTimeoutMs,
      onAvailability: (available) => this.storeHealth.changed(available),
      onFailure: (failure) => this.storeHealth.failed(failure),
    });
    this.rules = new RuleCache({
      cold: new ColdRules({
        snapshots: new RedisSnapshotStore(this.redis),
        database: new RuleReader(this.dataSource),
        redisAvailable: () => this.store.readable,
        // Some is left for the take that follows.
        redisDeadlineMs: 0.6 * config.storeTimeoutMs,
      }),
      defaultForUnknown: config.unknownMerchant === 'default',
    });
    this.changes = new ChangeFeed(this.redis, this.subscriber, this.rules);
    this.decisions = new DecisionMetrics(registry);
    const metrics = new ProxyMetrics();
    metrics.register(registry);
    const name = randomUUID();
    this.spareCapacity = new MeasuredSpareCapacity({
      capacityPerSecond: config.upstreamCapacityPerSecond,
      report: (perSecond) => reportLoad(this.redis, name, perSecond),
      upstreamErrors: () => metrics.count(Outcome.UpstreamError),
    });
    this.addGauges(registry);
    this.limiter = new RateLimiter(this.store, new MemoryBucketStore(Date.now), this.spareCapacity);
    const trusts = createTrust(config.trustedProxies);
    const admission = new RequestAdmission({
      identify: createIdentifier({ trusts }),
      rules: this.rules,
      limiter: this.limiter,
      metrics: this.decisions,
      load: this.spareCapacity,
      rulesDeadlineMs: () => (this.store.readable ? RULES_DEADLINE_MS : config.storeTimeoutMs),
    });
    this.proxy = new ProxyServer({
      upstream: config.upstreamUrl,
      logger,
      metrics,
      admit: admission.admit,
      trusts,
    });
  }

  async start(): Promise<void> {
    const { config, health, logger } = this.options;
    // Without Redis and PostgreSQL the rules say what happens, and a gateway that declared itself unready would take that
    // away from every merchant at once. Why the store is away is told all the same.
    health.addCheck('rules', () => {
      if (!this.rules.ready) throw new Error('the default rules have not been read yet: neither Redis nor PostgreSQL answered');
    });
    health.addCheck('store', this.storeHealth.check, { required: false });
    void this.connectDatabase();
    void this.changes.start();
    void this.readDefaultRules();
    await this.warmUp();
    if (this.stopping.signal.aborted) return;
    const port = await this.proxy.listen(config.gatewayPort, config.gatewayHost);
    logger.info({ port, upstream: config.upstreamUrl.origin }, 'gateway listens');
    if (config.upstreamCapacityPerSecond > 0) this.spareCapacity.start();
    this.summary = setInterval(() => this.logSummary(), SUMMARY_EVERY_MS);
    this.busyTeller = setInterval(() => void this.tellBusyMerchants(), TELL_BUSY_MERCHANTS_EVERY_MS);
  }

  /** Finishes what is in flight, then lets go of everything. */
  async stop(): Promise<void> {
    this.stopping.abort();
    clearInterval(this.summary);
    clearInterval(this.busyTeller);
    await this.proxy.close(this.options.config.shutdownGraceMs / 2);
    this.spareCapacity.stop();
    this.changes.stop();
    await this.tellBusyMerchants();
    this.store.close();
    this.storeHealth.stop();
    this.redis.disconnect();
    this.subscriber.disconnect();
    if (this.dataSource.isInitialized) await this.dataSource.destroy();
    this.logSummary();
  }

  /** Before it listens: whoever can reach a gateway finds it warm. */
  private async warmUp(): Promise<void> {
    const { redis, rules, limiter } = this;
    const startedMs = performance.now();
    const outcome = await warmUp({ redis, rules, limiter, signal: this.stopping.signal });
    this.options.logger.info({ ...outcome, durationMs: Math.round(performance.now() - startedMs) }, 'warmed up');
  }

  /** For the gateways that start after this one. */
  private async tellBusyMerchants(): Promise<void> {
    const merchantIds = this.rules.firstMerchants(MOST_BUSY_MERCHANTS);
    await withDeadline(writeBusyMerchants(this.redis, merchantIds), this.options.config.storeTimeoutMs).catch(() => {});
  }

  private async connectDatabase(): Promise<void> {
    let said = false;
    const onFailure = (err: unknown): void => {
      if (!said) this.options.logger.warn({ err }, 'PostgreSQL is away; merchants that are not in Redis cannot be served');
      said = true;
    };
    await connectWhenUp(this.dataSource, { signal: this.stopping.signal, onFailure }).catch(() => {});
  }

  /** Once they are there, changes keep them fresh. */
  private async readDefaultRules(): Promise<void> {
    while (!this.stopping.signal.aborted && !this.rules.ready) {
      await this.rules.loadDefaults().catch(() => new Promise((resolve) => setTimeout(resolve, RETRY_MS)));
    }
  }

  /** Refusals are worth a line, but not one each. */
  private logSummary(): void {
    const { allowed, refused } = this.decisions.takeSummary();
    if (refused > 0) this.options.logger.info({ allowed, refused, seconds: SUMMARY_EVERY_MS / 1000 }, 'requests refused');
  }

  private addGauges(registry: Registry): void {
    const { store, rules, spareCapacity } = this;
    new Gauge({
      name: 'gateway_store_available', help: '1 while Redis carries out takes in time.', registers: [registry],
      collect() {
        this.set(store.available ? 1 : 0);
      },
    });
    new Gauge({
      name: 'gateway_store_clock_offset_seconds', help: 'By how much the clock of Redis is ahead of the one of this gateway, by its last answer.', registers: [registry],
      collect() {
        this.set(store.clockOffsetMs / 1000);
      },
    });
    new Gauge({
      name: 'gateway_spare_capacity', help: 'Requests that this gateway may still pass above elastic limits before the next measurement.', registers: [registry],
      collect() {
        this.set(spareCapacity.left);
      },
    });
    new Gauge({
      name: 'gateway_cached_merchants', help: 'Merchants whose rules are in this process.', registers: [registry],
      collect() {
        this.set(rules.size);
      },
    });
  }
}
