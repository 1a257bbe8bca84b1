import { setTimeout as sleep } from 'node:timers/promises';
import { Enforcer, postgresRules } from '#enforcement';
import type { Config, Health, Logger } from '#platform';
import type { Registry } from 'prom-client';
import { createClientOf, createIdentifier, createKeyReader, createTrust } from './identity/index.js';
import { type InboundRequest, Outcome, ProxyMetrics, ProxyServer } from './proxy/index.js';
import { createAdmit } from './rate-limit/admission.js';
import { createDescribe } from './rate-limit/describe.js';

export interface GatewayOptions {
  readonly config: Config<'gateway'>;
  readonly logger: Logger;
  readonly health: Health;
  readonly registry: Registry;
}

/** An enforcer behind a proxy; starts and stops them in order. */
export class Gateway {
  readonly enforcer: Enforcer;
  private readonly proxy: ProxyServer;
  private readonly stopping = new AbortController();
  private listening = false;

  constructor(private readonly options: GatewayOptions) {
    const { config, registry } = options;
    const metrics = new ProxyMetrics();
    metrics.register(registry);
    this.enforcer = createEnforcer(options, metrics);
    const trusts = createTrust(config.trustedProxies);
    const identify = createIdentifier({ trusts, header: config.identity.includes('header') });
    const { apiKeys } = this.enforcer;
    const readKey = apiKeys && createKeyReader<InboundRequest>(apiKeys, createClientOf({ trusts }));
    const headerFirst = config.identity[0] === 'header';
    this.proxy = new ProxyServer({
      ...proxyLimits(config),
      upstream: config.upstreamUrl,
      logger: options.logger,
      metrics,
      trusts,
      admit: createAdmit({ describe: createDescribe({ ...config, identify }), enforcer: this.enforcer, readKey, headerFirst }),
      pathPolicy: config.pathPolicy,
      pathPolicyExceptions: config.pathPolicyExceptions,
    });
  }

  async start(): Promise<void> {
    const { config, health, logger } = this.options;
    const { enforcer, stopping } = this;
    // Without Redis and PostgreSQL the rules say what happens, and a gateway that declared itself unready would take that
    // away from every merchant at once. Why the store is away is shown all the same.
    health.addCheck('rules', enforcer.assertRulesRead);
    health.addCheck('store', enforcer.assertStoreAvailable, { required: false });
    // Before it listens: a gateway that can be reached is warm, and counted among the gateways.
    await enforcer.open(stopping.signal);
    if (stopping.signal.aborted) return;
    const port = await this.proxy.listen(config.gatewayPort, config.gatewayHost);
    this.listening = true;
    logger.info({ port, upstream: config.upstreamUrl.origin }, 'gateway listens');
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

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.enforcer.close();
  }
}

function createEnforcer({ config, logger, registry }: GatewayOptions, metrics: ProxyMetrics): Enforcer {
  const rules = postgresRules(config.databaseUrl, 'tollgate-gateway');
  return new Enforcer({
    redisUrl: config.redisUrl,
    ruleSource: rules,
    apiKeySource: config.identity.includes('api-key') ? rules : undefined,
    logger,
    registry,
    storeTimeoutMs: config.storeTimeoutMs,
    ruleCacheBytes: config.ruleCacheMb * 2 ** 20,
    defaultForUnknown: config.unknownMerchant === 'default',
    unknownLookupsPerSecond: config.unknownLookupsPerSecond,
    unknownLookupsPerPeer: config.unknownLookupsPerPeer,
    gatewaysExpected: config.gatewaysExpected,
    upstreamCapacityPerSecond: config.upstreamCapacityPerSecond,
    upstreamErrors: () => metrics.count(Outcome.UpstreamError),
    usageFlushMs: config.usageFlushMs,
    receiptsPerSecond: config.receiptsPerSecond,
    receiptsPassedOneIn: config.receiptsPassedOneIn,
    receiptsKept: config.receiptsKept,
    receiptsPerMerchant: config.receiptsPerMerchant,
    ...(config.receiptHashKey !== undefined && { receiptHashKey: config.receiptHashKey }),
  });
}

/** How much the proxy holds, and how long it waits. */
function proxyLimits(config: GatewayOptions['config']) {
  return {
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
  };
}
