import { setTimeout as sleep } from 'node:timers/promises';
import { createTrust, enforcerOptions, headersIn, type PairOfFiles, registerCertificate } from '#edge';
import { Enforcer } from '#enforcement';
import { counterBy, gauge } from '#metrics';
import type { Config, Health, Logger } from '#platform';
import type { Registry } from 'prom-client';
import { CallerLimit } from './callers/caller-limit.js';
import { Callers } from './callers/callers.js';
import type { Decisions } from './decisions/decisions.js';
import { Waiters } from './decisions/waiters.js';
import { CallCounts } from './http/call-counts.js';
import { LimitOverrides } from './envoy/limit-overrides.js';
import { GrpcDoors } from './grpc/grpc-doors.js';
import { DecisionServer } from './http/decision-server.js';
import { createDecisions, createRoutes } from './http/routes.js';
import { type CallerTls, createCallerTls, registerHandshakes } from './tls/caller-tls.js';

export interface DecisionApiOptions {
  readonly config: Config<'decision-api'>;
  readonly logger: Logger;
  readonly health: Health;
  readonly registry: Registry;
  /** What is in the files of the certificate; they are read unless it is given. */
  readonly certificate?: PairOfFiles | undefined;
}

/** How long an answer may take beyond what a caller asks to wait: rules that have to be read first. */
const LONGEST_DECISION_MS = 5_000;

/** An enforcer behind doors for those who keep their own proxy; starts and stops them in order. */
export class DecisionApi {
  readonly enforcer: Enforcer;
  /** What every door asks. */
  readonly decisions: Decisions;
  /** Who may ask, and how much. */
  readonly callers: Callers;
  readonly callerLimit: CallerLimit;
  private readonly server: DecisionServer;
  private readonly grpc: GrpcDoors;
  private readonly tls: CallerTls | undefined;
  private readonly stopping = new AbortController();
  private listening = false;

  constructor(private readonly options: DecisionApiOptions) {
    const { config, health, logger, registry } = options;
    this.enforcer = new Enforcer({ ...enforcerOptions(config, 'tollgate-decision-api'), logger, registry });
    const headersOf = headersIn(config.rateLimitHeaders, config.rateLimitReset);
    this.decisions = createDecisions(this.enforcer, headersOf, config, false);
    this.tls = createCallerTls(config, logger, options.certificate);
    this.callers = new Callers(config.decisionApiTokens, this.tls?.certified);
    this.callerLimit = new CallerLimit(config.decisionApiCallerPerSecond);
    const waiters = new Waiters({
      decisions: this.decisions,
      most: config.decisionApiMaxWaiting,
      maxWaitMs: config.decisionApiMaxWaitMs,
      stopping: this.stopping.signal,
    });
    const doors = {
      decisions: this.decisions,
      strictDecisions: createDecisions(this.enforcer, headersOf, config, true),
      limit: this.callerLimit,
      headersOf,
      trusts: createTrust(config.trustedProxies),
      overrides: new LimitOverrides(this.enforcer),
    };
    const { maxInFlight, maxConnections, maxBufferedBytes } = config;
    const routes = createRoutes({ ...doors, waiters });
    const counts = new CallCounts();
    registerCalls(registry, counts, waiters);
    registerCertificate(registry, this.tls?.files);
    registerHandshakes(registry, this.tls);
    const tls = this.tls?.door;
    const bounds = { maxInFlight, maxConnections, maxBufferedBytes };
    this.grpc = new GrpcDoors({ ...doors, ...bounds, callers: this.callers, counts, health, logger, tls });
    this.server = new DecisionServer({
      routes,
      callers: this.callers,
      counts,
      logger,
      ...bounds,
      headersTimeoutMs: config.clientHeadersTimeoutMs,
      requestTimeoutMs: 2 * config.clientHeadersTimeoutMs,
      longestAnswerMs: config.decisionApiMaxWaitMs + LONGEST_DECISION_MS,
      tls,
    });
  }

  async start(): Promise<void> {
    const { config, health, logger } = this.options;
    const { enforcer, stopping } = this;
    // As in a gateway: without Redis the rules say what happens.
    health.addCheck('rules', enforcer.assertRulesRead);
    health.addCheck('store', enforcer.assertStoreAvailable, { required: false });
    if (this.tls !== undefined) health.addCheck('certificate', this.tls.files.assertUsable, { required: false });
    await enforcer.open(stopping.signal);
    if (stopping.signal.aborted) return;
    const port = await this.server.listen(config.decisionApiPort, config.decisionApiHost);
    const grpcPort = await this.grpc.listen(config.decisionApiGrpcPort, config.decisionApiHost);
    this.listening = true;
    this.tls?.files.open();
    logger.info({ port, grpcPort, callers: config.decisionApiTokens.length, tls: this.tls !== undefined }, 'decision API listens');
  }

  /** Goes on serving for a while in which load balancers can see that this process is unready, then finishes what is in flight. */
  async drain(): Promise<void> {
    const { config, logger } = this.options;
    this.stopping.abort();
    const delayMs = this.listening ? Math.min(config.drainDelayMs, config.shutdownGraceMs / 2) : 0;
    this.server.drain();
    this.grpc.drain();
    if (delayMs > 0) {
      logger.info({ delayMs }, 'draining: unready, and still serving');
      await sleep(delayMs);
    }
    const graceMs = (config.shutdownGraceMs - delayMs) / 2;
    await Promise.all([this.server.close(graceMs), this.grpc.close(graceMs)]);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.tls?.files.close();
    await this.enforcer.close();
  }
}

function registerCalls(registry: Registry, counts: CallCounts, waiters: Waiters): void {
  counterBy(
    registry,
    'tollgate_decision_api_calls_total',
    'Calls by their path and the class of their answer.',
    ['call', 'status_class'],
    () => counts.read().map(([call, statusClass, count]) => [[call, statusClass], count] as const),
  );
  gauge(registry, 'tollgate_decision_api_calls_in_flight', 'Calls that were begun and are not answered.', () => counts.inFlight);
  gauge(registry, 'tollgate_decision_api_waiting', 'Calls that wait for tokens.', () => waiters.count);
}
