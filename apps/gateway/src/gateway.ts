import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { MemoryBucketStore, RateLimiter, RememberingBucketStore } from '#limiter';
import {
  ChangeFeed,
  createRedis,
  leaveGateways,
  MOST_BUSY_MERCHANTS,
  RedisBucketStore,
  RedisSnapshotStore,
  redisTake,
  reportLoad,
  withDeadline,
  writeBusyMerchants,
  type PlatformLoad,
} from '#limiter-redis';
import type { Config, Health, Logger } from '#platform';
import { connectWhenUp, createDataSource, RuleReader } from '#rules-db';
import { Gauge, type Registry } from 'prom-client';
import { createIdentifier, createTrust } from './identity/index.js';
import { IgnoredMessages } from './ignored-messages.js';
import { Outcome, ProxyMetrics, ProxyServer } from './proxy/index.js';
import { RequestAdmission } from './rate-limit/admission.js';
import { ColdRules, READS_AT_ONCE } from './rate-limit/cold-rules.js';
import { DecisionMetrics } from './rate-limit/decision-metrics.js';
import { LiveGateways } from './rate-limit/live-gateways.js';
import { LookupAllowance } from './rate-limit/lookup-allowance.js';
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
/** Of refusals that penalties count. */
const TELL_REFUSALS_EVERY_MS = 250;
const POLL_CHANGES_EVERY_MS = 1000;

/** The parts of a gateway and how they hang together; starts and stops them in order. */
export class Gateway {
  private readonly redis;
  private readonly subscriber;
  private readonly dataSource;
  private readonly store: RedisBucketStore;
  /** In front of it. */
  private readonly buckets: RememberingBucketStore;
  private readonly storeHealth: StoreHealth;
  private readonly ignored: IgnoredMessages;
  private readonly rules: RuleCache;
  private readonly limiter: RateLimiter;
  private readonly changes: ChangeFeed;
  private readonly decisions: DecisionMetrics;
  private readonly proxy: ProxyServer;
  private readonly spareCapacity: MeasuredSpareCapacity;
  private readonly gateways: LiveGateways;
  /** Among the other gateways. */
  private readonly name = randomUUID();
  private readonly stopping = new AbortController();
  private listening = false;
  private summary: NodeJS.Timeout | undefined;
  private busyTeller: NodeJS.Timeout | undefined;
  private refusalTeller: NodeJS.Timeout | undefined;

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
    this.ignored = new IgnoredMessages({ logger, registry });
    const onUnreadable = this.ignored.add;
    this.rules = new RuleCache({
      cold: new ColdRules({
        snapshots: new RedisSnapshotStore(this.redis, onUnreadable),
        database: new RuleReader(this.dataSource),
        redisAvailable: () => this.store.readable,
        // Some is left for the take that follows.
        redisDeadlineMs: 0.6 * config.storeTimeoutMs,
        unknownIds: new LookupAllowance({
          perSecond: config.unknownLookupsPerSecond,
          perPeerPerSecond: config.unknownLookupsPerPeer,
          atOnce: READS_AT_ONCE,
        }),
      }),
      makeTake: redisTake,
      maxBytes: Math.min(config.ruleCacheMb * 2 ** 20, getHeapStatistics().heap_size_limit / 4),
      defaultForUnknown: config.unknownMerchant === 'default',
    });
    this.changes = new ChangeFeed(this.redis, this.subscriber, this.rules, POLL_CHANGES_EVERY_MS, onUnreadable);
    this.decisions = new DecisionMetrics(registry);
    const metrics = new ProxyMetrics();
    metrics.register(registry);
    this.gateways = new LiveGateways(config.gatewaysExpected);
    this.gateways.register(registry);
    this.spareCapacity = new MeasuredSpareCapacity({
      capacityPerSecond: config.upstreamCapacityPerSecond,
      report: (perSecond) => this.report(perSecond),
      upstreamErrors: () => metrics.count(Outcome.UpstreamError),
    });
    this.addGauges(registry);
    this.buckets = new RememberingBucketStore(this.store, () => performance.now());
    this.limiter = new RateLimiter(this.buckets, new MemoryBucketStore(Date.now), {
      spareCapacity: this.spareCapacity,
      gateways: () => this.gateways.count,
    });
    const trusts = createTrust(config.trustedProxies);
    const admission = new RequestAdmission({
      identify: createIdentifier({ trusts }),
      rules: this.rules,
      limiter: this.limiter,
      metrics: this.decisions,
      load: this.spareCapacity,
      pathCaseSensitive: config.pathCaseSensitive,
      rulesDeadlineMs: () => (this.store.readable ? RULES_DEADLINE_MS : config.storeTimeoutMs),
    });
    this.proxy = new ProxyServer({
      upstream: config.upstreamUrl,
      connections: config.upstreamConnections,
      queueTimeoutMs: config.upstreamQueueTimeoutMs,
      headersTimeoutMs: config.upstreamResponseTimeoutMs,
      bodyTimeoutMs: config.upstreamIdleTimeoutMs,
      merchantShare: config.merchantSharePercent / 100,
      maxInFlight: config.maxInFlight,
      maxBufferedBytes: config.maxBufferedBytes,
      maxConnections: config.maxConnections,
      maxConnectionsPerPeer: config.maxConnectionsPerPeer,
      clientHeadersTimeoutMs: config.clientHeadersTimeoutMs,
      minBodyBytesPerSecond: config.minBodyBytesPerSecond,
      requestBodyGraceMs: config.requestBodyGraceMs,
      responseBodyGraceMs: config.responseBodyGraceMs,
      exchangeTimeoutMs: config.exchangeTimeoutMs,
      logger,
      metrics,
      admit: admission.admit,
      trusts,
      pathPolicy: config.pathPolicy,
      pathPolicyExceptions: config.pathPolicyExceptions,
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
    // Before it listens: it knows how many gateways there are, and is one of them.
    await this.spareCapacity.measure();
    if (this.stopping.signal.aborted) return;
    this.spareCapacity.start();
    const port = await this.proxy.listen(config.gatewayPort, config.gatewayHost);
    this.listening = true;
    logger.info({ port, upstream: config.upstreamUrl.origin }, 'gateway listens');
    this.summary = setInterval(() => this.logSummary(), SUMMARY_EVERY_MS);
    this.busyTeller = setInterval(() => void this.tellBusyMerchants(), TELL_BUSY_MERCHANTS_EVERY_MS);
    this.refusalTeller = setInterval(() => this.buckets.tell(), TELL_REFUSALS_EVERY_MS);
  }

  /**
   * Goes on serving for a while in which load balancers can see that this gateway is unready, then finishes what is in flight.
   * Half of the time that remains is kept for `stop`.
   */
  async drain(): Promise<void> {
    const { config, logger } = this.options;
    this.stopping.abort();
    const delayMs = this.listening ? Math.min(config.drainDelayMs, config.shutdownGraceMs / 2) : 0;
    this.proxy.drain();
    if (delayMs > 0) {
      logger.info({ delayMs }, 'draining: unready, and still serving');
      await sleep(delayMs);
    }
    await this.proxy.close((config.shutdownGraceMs - delayMs) / 2);
  }

  /** Lets go of everything. */
  async stop(): Promise<void> {
    this.stopping.abort();
    clearInterval(this.summary);
    clearInterval(this.busyTeller);
    clearInterval(this.refusalTeller);
    this.buckets.tell();
    this.spareCapacity.stop();
    this.changes.stop();
    await this.tellBusyMerchants();
    await withDeadline(leaveGateways(this.redis, this.name), this.options.config.storeTimeoutMs).catch(() => {});
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
    const outcome = await warmUp({ redis, rules, limiter, signal: this.stopping.signal, onUnreadable: this.ignored.add });
    this.options.logger.info({ ...outcome, durationMs: Math.round(performance.now() - startedMs) }, 'warmed up');
  }

  /** Tells the other gateways that this one is alive and what it forwards, and learns the same of them. */
  private async report(perSecond: number): Promise<PlatformLoad> {
    const load = await reportLoad(this.redis, this.name, perSecond, this.ignored.add);
    this.gateways.heard(load.gateways);
    return load;
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
      name: 'gateway_store_available',
      help: '1 while Redis carries out takes in time.',
      registers: [registry],
      collect() {
        this.set(store.available ? 1 : 0);
      },
    });
    new Gauge({
      name: 'gateway_store_clock_offset_seconds',
      help: 'By how much the clock of Redis is ahead of the one of this gateway, by its last answer.',
      registers: [registry],
      collect() {
        this.set(store.clockOffsetMs / 1000);
      },
    });
    new Gauge({
      name: 'gateway_spare_capacity',
      help: 'Requests that this gateway may still pass above elastic limits before the next measurement.',
      registers: [registry],
      collect() {
        this.set(spareCapacity.left);
      },
    });
    new Gauge({
      name: 'gateway_cached_merchants',
      help: 'Merchants whose rules are in this process.',
      registers: [registry],
      collect() {
        this.set(rules.size);
      },
    });
    new Gauge({
      name: 'gateway_cached_unknown_merchants',
      help: 'Ids in this process that nobody created.',
      registers: [registry],
      collect() {
        this.set(rules.unknownSize);
      },
    });
    new Gauge({
      name: 'gateway_rule_cache_bytes',
      help: 'Memory that the rules in this process take, by estimate.',
      registers: [registry],
      collect() {
        this.set(rules.bytes);
      },
    });
  }
}
