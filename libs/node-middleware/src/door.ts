import { createRequestIds, headersIn, isRequestId } from '#edge';
import { Enforcer, postgresRules } from '#enforcement';
import type { RetryPolicy, Rule } from '#limiter';
import { setProblemTypeBase } from '#platform';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { type AskedRoute, createDescribe, type Describe } from './describe.js';
import type { Asked, NodeRequest } from './node-http.js';
import type { RequestOptions, RouteOptions, TollgateOptions } from './options.js';
import { OptionsError } from './options-error.js';
import { type Admission, Passages, PASSES, stopping } from './passage.js';
import { routeSettingsOf, settingsOf, type TollgateSettings } from './settings.js';

const MOST_RULES = 1_000;

/** An enforcer in a service, whatever its framework. The adapters say what a request is, and carry out what becomes of it. */
export class Door {
  /** Has the metrics. */
  readonly registry: Registry;
  private readonly settings: TollgateSettings;
  private readonly enforcer: Enforcer;
  private readonly passages: Passages;
  private readonly describe: Describe;
  private readonly nextRequestId = createRequestIds();
  private readonly rules = new Map<string, Rule>();
  /** For which route a request has been decided about. */
  private readonly decidedFor = new WeakMap<NodeRequest, string>();
  private closing: Promise<void> | undefined;
  private closed = false;

  /** Connects to nothing yet that it would wait for: see `open`. @throws OptionsError that names every wrong option */
  constructor(options: TollgateOptions) {
    const settings = settingsOf(options);
    const { databaseUrl, storedRules, logger = pino({ name: 'tollgate', level: 'warn' }), registry = new Registry() } = settings;
    if (options.problemTypeBase !== undefined) setProblemTypeBase(settings.problemTypeBase);
    this.settings = settings;
    this.registry = registry;
    this.enforcer = new Enforcer({
      redisUrl: settings.redisUrl,
      ruleSource: databaseUrl === undefined ? undefined : postgresRules(databaseUrl, 'tollgate-node-middleware'),
      storedRules,
      logger,
      registry,
      storeTimeoutMs: settings.storeTimeoutMs,
      leaseHorizonMs: settings.leaseHorizonMs,
      leaseCacheBytes: settings.leaseCacheMb * 2 ** 20,
      ruleCacheBytes: settings.ruleCacheMb * 2 ** 20,
      defaultForUnknown: settings.unknownMerchant === 'default',
      gatewaysExpected: settings.gatewaysExpected,
      retries: retryPolicy(settings),
      // Who reads usage and receipts has stored rules.
      ...(!storedRules && { usageFlushMs: 0, receiptsPerSecond: 0 }),
    });
    const headersOf = headersIn(settings.rateLimitHeaders, settings.rateLimitReset);
    this.passages = new Passages({ headersOf, maxWaiting: settings.maxWaiting });
    this.describe = createDescribe(settings);
    this.addRules(settings.rules);
  }

  /** Resolves as soon as the first decisions will be quick, after about three seconds at the latest, whatever is away. Never rejects. */
  open(): Promise<void> {
    return this.enforcer.open();
  }

  /** Whether rules tell upper from lower case in paths. @param usual whether the framework does */
  pathCaseSensitive(usual: boolean): boolean {
    return this.settings.pathCaseSensitive ?? usual;
  }

  /** Throws, with the reason, until rules have been read once: until then requests are refused with 503. */
  get assertRulesRead(): () => void {
    return this.enforcer.assertRulesRead;
  }

  /** Throws, with the reason, while Redis carries out no takes. */
  get assertStoreAvailable(): () => void {
    return this.enforcer.assertStoreAvailable;
  }

  /**
   * Waits up to `graceMs` for requests that are under way, and serves what still comes meanwhile. Then gives back what is held, and ends every connection and timer.
   * To be called once the server takes no more connections. Never rejects.
   */
  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  /**
   * What a route says, for `admit`; its rules apply from now on.
   *
   * @param at where that stands, for messages
   * @param usual the name that the route has unless it says another one, and what is said for all requests unless the route says something else
   * @throws OptionsError
   */
  prepare(
    options: RouteOptions,
    at: string,
    usual: { readonly route?: string | undefined; readonly requests?: RequestOptions } = {},
  ): AskedRoute {
    const { requests, route, rules } = routeSettingsOf(options, at, usual.route);
    this.addRules(rules);
    return { route, requests: { ...(usual.requests ?? this.settings.requests), ...requests } };
  }

  /**
   * Decides about a request, once: who comes with it again, for the same route, is let through. What it takes is settled when its response ends, or its client leaves.
   * Rejects with what the functions of the options throw.
   */
  async admit(asked: Asked, route: AskedRoute): Promise<Admission> {
    const { request, response } = asked;
    if (this.isDecided(request, route.route ?? '')) return PASSES;
    if (response.writableEnded || response.destroyed) return 'gone';
    const requestId = this.requestIdOf(request);
    // On the response itself: node keeps only what is set there, and charges on response may look at it.
    if (!response.headersSent) response.setHeader('X-Request-Id', requestId);
    const described = this.describe(asked, route, requestId);
    if (described === 'not_decided') return PASSES;
    if (this.closed) return { passes: false, answer: stopping(requestId) };
    if ('refused' in described) {
      const { refused: answer, problem } = described;
      if (problem !== undefined) this.enforcer.countUndescribed(problem, requestId);
      return { passes: false, answer };
    }
    return new Promise((resolve) => {
      const passage = this.passages.begin(response, requestId, resolve);
      this.enforcer.check(described.descriptor, (outcome) => passage.decided(outcome), requestId);
    });
  }

  private isDecided(request: NodeRequest, route: string): boolean {
    const before = this.decidedFor.get(request);
    if (before === undefined) {
      this.decidedFor.set(request, route);
      return false;
    }
    if (before === route) return true;
    throw new Error(
      `tollgate has already decided about this request for ${named(before)}, and is asked again for ${named(route)}: ` +
        'mount it once in the way of a request, or write the rules of the route with paths',
    );
  }

  private requestIdOf({ headers }: NodeRequest): string {
    const sent = headers['x-request-id'];
    return typeof sent === 'string' && isRequestId(sent) ? sent : this.nextRequestId();
  }

  /** The same rule may come again, from another instance of a route. */
  private addRules(rules: readonly Rule[]): void {
    const before = this.rules.size;
    const ofName = new Map([...this.rules.values()].map((rule) => [rule.name, rule]));
    for (const rule of rules) {
      const other = ofName.get(rule.name);
      if (other !== undefined && JSON.stringify(other) !== JSON.stringify(rule))
        throw new OptionsError([{ at: 'rules', detail: `must have different names, and two are called ${JSON.stringify(rule.name)}` }]);
      ofName.set(rule.name, rule);
      this.rules.set(rule.id, rule);
    }
    if (this.rules.size > MOST_RULES)
      throw new OptionsError([{ at: 'rules', detail: `must be at most ${MOST_RULES}, those of routes included` }]);
    if (this.rules.size > before) this.enforcer.rulesHere([...this.rules.values()]);
  }

  private async end(): Promise<void> {
    await this.passages.close(this.settings.graceMs, () => (this.closed = true));
    await this.enforcer.close();
  }
}

function named(route: string): string {
  return route === '' ? 'no route in particular' : `the route ${JSON.stringify(route)}`;
}

function retryPolicy({
  idempotencyWindowMs: forMs,
  idempotencyRetries,
  idempotencyKeysPerMerchant,
}: TollgateSettings): RetryPolicy | undefined {
  return forMs === 0 ? undefined : { forMs, mostRetries: idempotencyRetries, mostRemembered: idempotencyKeysPerMerchant };
}
