import { setTimeout as sleep } from 'node:timers/promises';
import { CertificateFiles, createIdentifier, createTrust, headersIn, type PairOfFiles, registerCertificate, type Trust } from '#edge';
import type { Enforcer } from '#enforcement';
import type { Config, Health, Logger } from '#platform';
import type { Registry } from 'prom-client';
import { createEnforcer } from './create-enforcer.js';
import { CountryFile } from './country/country-file.js';
import { registerCountryFile } from './country/country-metrics.js';
import { createCredentialReader } from './identity/credentials.js';
import { registerIssuer } from './identity/issuer-metrics.js';
import { createIssuer, type Issuer } from './identity/issuer.js';
import { AccessLog, type Admit, createCriticalityOf, ProxyMetrics, type ProxyOptions, ProxyServer } from './proxy/index.js';
import { overloadSettings, proxyLimits, tlsFiles, tlsSettings } from './proxy-settings.js';
import { createAdmit } from './rate-limit/admission.js';
import { createDescribe } from './rate-limit/describe.js';
import { createIdentityRefusal } from './rate-limit/identity-refusals.js';
import { registerRoutes, type RoutesFile } from './routes/index.js';
import { PreflightCounts } from './rate-limit/preflight.js';
import { createPresent } from './rate-limit/presented.js';
import { rehearseRequests } from './rehearsal.js';
import { registerSpans, type Tracing } from './tracing/index.js';

export interface GatewayOptions {
  readonly config: Config<'gateway'>;
  readonly logger: Logger;
  readonly health: Health;
  readonly registry: Registry;
  /** Routes to several upstreams. */
  readonly routes?: RoutesFile | undefined;
  /** What is in the files of the certificate; they are read unless it is given. */
  readonly certificate?: PairOfFiles | undefined;
  /** Where requests are traced. */
  readonly tracing?: Tracing | undefined;
  /** Called when the gateway is warm: it serves as soon as this resolves, at once unless it is given. */
  readonly turnToServe?: (() => Promise<void>) | undefined;
}

/** An enforcer behind a proxy; starts and stops them in order. */
export class Gateway {
  readonly enforcer: Enforcer;
  /** Whether it has served the port. */
  listening = false;
  private readonly issuer: Issuer | undefined;
  private readonly countryFile: CountryFile | undefined;
  private readonly proxyOptions: ProxyOptions;
  private readonly proxy: ProxyServer;
  private readonly certificate: CertificateFiles | undefined;
  private readonly stopping = new AbortController();
  private readonly preflights = new PreflightCounts();

  constructor(private readonly options: GatewayOptions) {
    const { config, registry } = options;
    const metrics = new ProxyMetrics();
    metrics.register(registry);
    this.preflights.register(registry);
    registerSpans(registry, options.tracing);
    registerRoutes(registry, options.routes);
    this.enforcer = createEnforcer(options, metrics, (route) => this.proxy.hasRoute(route));
    this.issuer = createIssuer(config, options.logger);
    this.countryFile = config.countryFile === undefined ? undefined : new CountryFile({ path: config.countryFile, logger: options.logger });
    registerCountryFile(registry, this.countryFile);
    registerIssuer(registry, this.issuer);
    const trusts = createTrust(config.trustedProxies);
    this.certificate = this.openCertificate();
    registerCertificate(registry, this.certificate);
    this.proxyOptions = this.createProxyOptions(metrics, trusts);
    this.proxy = new ProxyServer(this.proxyOptions);
  }

  async start(): Promise<void> {
    const { config, health, logger, routes } = this.options;
    const { countryFile, enforcer, stopping } = this;
    // Without Redis and PostgreSQL the rules say what happens, and a gateway that declared itself unready would take that
    // away from every merchant at once. Why the store is away is shown all the same.
    health.addCheck('rules', enforcer.assertRulesRead);
    health.addCheck('store', enforcer.assertStoreAvailable, { required: false });
    // A gateway with the former routes is better than none.
    if (routes !== undefined) health.addCheck('routes', routes.assertValid, { required: false });
    if (this.issuer !== undefined) health.addCheck('token_keys', this.issuer.keys.assertFetched, { required: false });
    if (countryFile !== undefined) health.addCheck('country_file', countryFile.assertUsable, { required: false });
    if (this.certificate !== undefined) health.addCheck('certificate', this.certificate.assertUsable, { required: false });
    // Before it listens: a gateway that can be reached is warm, and counted among the gateways.
    await Promise.all([enforcer.warmUp(stopping.signal), this.issuer?.keys.open(), countryFile?.open()]);
    await this.rehearse();
    if (stopping.signal.aborted) return;
    // Its turn may come after a year, and then by the files of that day.
    this.certificate?.open();
    routes?.watch(logger, (changed) => this.proxy.useRoutes(changed));
    await this.itsTurn();
    await enforcer.join(stopping.signal);
    if (stopping.signal.aborted) return;
    const port = await this.proxy.listen(config.gatewayPort, config.gatewayHost);
    this.listening = true;
    logger.info({ port, upstream: config.upstreamUrl?.href.replace(/\/$/, ''), routesFile: config.routesFile }, 'gateway listens');
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
    this.options.routes?.close();
    this.issuer?.keys.close();
    this.certificate?.close();
    this.countryFile?.close();
    await Promise.all([this.enforcer.close(), this.options.tracing?.stop()]);
  }

  private createProxyOptions(metrics: ProxyMetrics, trusts: Trust): ProxyOptions {
    const { config, logger, routes, tracing } = this.options;
    return {
      ...proxyLimits(config),
      upstream: config.upstreamUrl,
      routes: routes?.routes,
      pathCaseSensitive: config.pathCaseSensitive,
      logger,
      metrics,
      tracer: tracing,
      tls: this.certificate && { pair: this.certificate.pair, ...tlsSettings(config) },
      accessLog: config.accessLog ? new AccessLog(logger) : undefined,
      criticalityOf: createCriticalityOf({
        routes: config.criticalityRoutes,
        header: config.criticalityHeader,
        pathCaseSensitive: config.pathCaseSensitive,
      }),
      overload: overloadSettings(config),
      present: createPresent({ body: config.refusalBody, html: config.refusalHtml, origins: config.refusalCorsOrigins }),
      trusts,
      admit: this.createAdmit(trusts),
      secrets: { header: keyHeader(config), bearer: config.identity.includes('jwt') && !config.jwtForward },
      pathPolicy: config.pathPolicy,
      pathPolicyExceptions: config.pathPolicyExceptions,
    };
  }

  private openCertificate(): CertificateFiles | undefined {
    const { certificate: pair, config, logger } = this.options;
    const { cert, key, clientCa } = tlsFiles(config);
    if (cert === undefined || key === undefined) return undefined;
    const onChanged = (changed: PairOfFiles): void => this.proxy.renewTls(changed);
    return new CertificateFiles({ prefix: 'GATEWAY_TLS', paths: { cert, key, clientCa }, pair, logger, onChanged });
  }

  /** Resolves when the gateway shall serve, or is told to end before. */
  private itsTurn(): Promise<void> {
    const { signal } = this.stopping;
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
      void Promise.resolve(this.options.turnToServe?.()).then(resolve);
    });
  }

  private async rehearse(): Promise<void> {
    const { enforcer, options, proxyOptions, stopping } = this;
    const { config, logger } = options;
    const startedMs = performance.now();
    const admit = createAdmit({
      describe: createDescribe({ ...config, identify: createIdentifier({ trusts: () => true, header: true }) }),
      enforcer: { check: (descriptor, answer) => enforcer.rehearse(descriptor, answer), countUndescribed: () => {} },
      ...ownAnswers(config),
    });
    const requests = await rehearseRequests({ proxy: { ...proxyOptions, admit }, signal: stopping.signal });
    logger.info({ requests, durationMs: Math.round(performance.now() - startedMs) }, 'rehearsed');
  }

  private createAdmit(trusts: Trust): Admit {
    const { countryFile, enforcer, issuer } = this;
    const { config } = this.options;
    const { identity: kinds } = config;
    const apiKeyHeader = keyHeader(config);
    return createAdmit({
      describe: createDescribe({
        ...config,
        identify: createIdentifier({ trusts, header: kinds.includes('header') }),
        countryOf: countryFile?.countryOf,
        knowsRetries: config.idempotencyWindowMs > 0,
      }),
      enforcer,
      ...ownAnswers(config),
      preflights: this.preflights,
      readCredential: createCredentialReader({
        kinds,
        apiKeyHeader,
        apiKeys: enforcer.apiKeys,
        tokens: issuer?.tokens,
        certificates: certificateSettings(config),
        trusts,
      }),
    });
  }
}

/** How the gateway answers by itself, and what it adds to answers. */
function ownAnswers(config: Config<'gateway'>) {
  return {
    identityRefusal: createIdentityRefusal({ kinds: config.identity, apiKeyHeader: keyHeader(config) }),
    headersOf: headersIn(config.rateLimitHeaders, config.rateLimitReset),
  };
}

function certificateSettings({ clientCertHeader: header, clientCertMerchant: part, clientCertPrefix: prefix }: Config<'gateway'>) {
  return { header, part, prefix };
}

/** Where merchants are not known by API keys, a header of this name is the upstream's. */
function keyHeader({ identity, apiKeyHeader }: Config<'gateway'>): string {
  return identity.includes('api-key') ? apiKeyHeader : '';
}
