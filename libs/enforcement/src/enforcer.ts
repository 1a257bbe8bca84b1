import { randomUUID } from 'node:crypto';
import {
  type AnswerFacts,
  NewerRulesError,
  rerouted,
  rerouteOf,
  StoreUnavailableError,
  type Descriptor,
  type Rule,
  type Switch,
  type Verdict,
} from '#limiter';
import { type ClaimOutcome, leaveGateways, MOST_BUSY_MERCHANTS, reportLoad, writeBusyMerchants, type PlatformLoad } from '#limiter-redis';
import { retryUntilDone, withDeadline } from '#waiting';
import { createDependencies, type Dependencies } from './dependencies.js';
import { enforcerSettings, type EnforcerOptions, type EnforcerSettings } from './enforcer-options.js';
import { RULES_UNAVAILABLE, TOO_MANY_UNKNOWN, UNKNOWN_MERCHANT, type NoVerdict, type Outcome } from './outcome.js';
import type { ApiKeys } from './keys/api-keys.js';
import { registerGauges } from './reports/gauges.js';
import { registerLeaseMetrics } from './reports/lease-metrics.js';
import { rehearsedRules } from './rehearsal.js';
import { UnknownRoutes } from './reports/unknown-routes.js';
import type { CountedRules } from './rules/counted-rules.js';
import type { KnownRules } from './rules/rule-cache.js';
import { TooManyUnknownError } from './rules/rule-source.js';
import { rulesInTime } from './rules/rules-in-time.js';
import { warmUp } from './warm-up.js';

/** How often a request starts over because its rules turn out to be outdated. */
const MAX_RELOADS = 3;
const SUMMARY_EVERY_MS = 2000;
const TELL_BUSY_MERCHANTS_EVERY_MS = 30_000;
const LOOK_AT_SWITCHES_EVERY_MS = 1000;
/** What is on is said again so often: nobody should be able to forget it. */
const REMIND_OF_SWITCHES_EVERY_MS = 60_000;
/** Leases are renewed and given back, and what was spent optimistically is told. */
const TICK_LEASES_EVERY_MS = 20;
/** Refusals that penalties count. */
const TELL_REFUSALS_EVERY_MS = 250;
/** To give back a hundred thousand leases takes most of a second. */
const GIVE_BACK_WITHIN_MS = 1000;

/** Told that the rules for a request are not in memory, and when they are, or cannot be had. */
export interface CheckWatch {
  rulesSought(): void;
  rulesFound(): void;
}

type Answer = (outcome: Outcome) => void;
/** The rules by which a bucket was asked that knows newer ones, and the time at the store then. */
interface Asked {
  readonly rules: KnownRules;
  readonly atUs: number;
}

/**
 * Everything between a descriptor and a verdict that needs I/O: it keeps the rules of merchants fresh, takes from the buckets in Redis, acts by
 * the rules while Redis is away, and counts what it decides. It knows neither HTTP nor a framework: a gateway, an API that answers questions
 * about decisions, and a library in somebody's service use it alike.
 */
export class Enforcer {
  private readonly settings: EnforcerSettings;
  private readonly dependencies: Dependencies;
  /** Its name among all enforcers that share the buckets. */
  private readonly id = randomUUID();
  private readonly closing = new AbortController();
  private readonly timers: NodeJS.Timeout[] = [];
  private readonly unknownRoutes: UnknownRoutes;
  private saidOfSwitches = { text: '[]', atMs: 0 };

  /** Connects to nothing yet that it would wait for: see `open`. */
  constructor(options: EnforcerOptions) {
    this.settings = enforcerSettings(options);
    this.unknownRoutes = new UnknownRoutes(this.settings.logger);
    this.dependencies = createDependencies(this.settings, this.id, (perSecond) => this.report(perSecond));
    registerGauges(this.settings.registry, this.dependencies);
    registerLeaseMetrics(this.settings.registry, this.dependencies.leasing);
  }

  /**
   * Resolves as soon as the first decisions will be quick, after about three seconds at the latest: an enforcer without Redis and
   * PostgreSQL is open too, and goes on trying. Never rejects.
   *
   * @param signal ends the opening
   */
  async open(signal: AbortSignal = this.closing.signal): Promise<void> {
    await this.warmUp(signal);
    await this.join(signal);
  }

  /**
   * The first half of `open`: everything that does not concern the other enforcers. Rules stay fresh from here on, so `join` may follow at any time. Never
   * rejects.
   */
  async warmUp(signal: AbortSignal = this.closing.signal): Promise<void> {
    const ended = AbortSignal.any([signal, this.closing.signal]);
    const { changes, redis, snapshotRedis, rules, ruleSource, limiter, ignored } = this.dependencies;
    void this.connectRuleSource(ended);
    void changes.start();
    void this.readDefaultRules(ended);
    const startedMs = performance.now();
    const changesKnown = changes.firstAnswer;
    const outcome = await warmUp({
      redis,
      snapshotRedis,
      rules,
      ruleSource,
      limiter,
      changesKnown,
      signal: ended,
      onUnreadable: ignored.add,
    });
    this.settings.logger.info({ ...outcome, durationMs: Math.round(performance.now() - startedMs) }, 'warmed up');
  }

  /** The second half: from now on the others count this one, and it knows how many there are. Half a second at the latest; never rejects. */
  async join(signal: AbortSignal = this.closing.signal): Promise<void> {
    const ended = AbortSignal.any([signal, this.closing.signal]);
    const { leasing, spareCapacity, buckets, reports } = this.dependencies;
    if (ended.aborted) return;
    await spareCapacity.measure();
    if (ended.aborted) return;
    spareCapacity.start();
    reports.start();
    this.timers.push(
      setInterval(() => this.logSummary(), SUMMARY_EVERY_MS),
      setInterval(() => this.logSwitches(), LOOK_AT_SWITCHES_EVERY_MS),
      setInterval(() => void this.tellBusyMerchants(), TELL_BUSY_MERCHANTS_EVERY_MS),
      setInterval(() => buckets.tell(), TELL_REFUSALS_EVERY_MS),
      setInterval(() => leasing.tick(), TICK_LEASES_EVERY_MS),
    );
  }

  /**
   * Decides about a request. Calls back once, perhaps before it returns, within bounded time; it does not throw. A callback, because a promise
   * for each of hundreds of thousands of decisions a second costs more than the decisions: a caller who wants a promise wraps the call in one line.
   *
   * A request that is allowed holds the verdict's reservations: each is to be released when the request is over, with what is known of the answer, or refunded if it
   * never reached the upstream.
   *
   * Where a rule looks at the body of a request, the descriptor's `readBody` is called first; if the door gives the request up meanwhile, there is no answer.
   *
   * @param watch is told while rules are read
   * @param requestId by which a receipt of the decision is found; without one there is none. Characters that are harmless in a log, at most 64
   */
  check(descriptor: Descriptor, answer: Answer, requestId = '', watch?: CheckWatch): void {
    const rules = this.dependencies.rules.get(descriptor.merchantId);
    if (rules === undefined) this.checkCold(descriptor, answer, requestId, watch);
    else this.checkBy(rules, descriptor, answer, requestId);
  }

  /**
   * Decides as `check` does, by rules of nobody, at REHEARSED_PATH: takes nothing, counts nothing, tells nobody. For a door that wants its own way to be
   * compiled before its first request.
   */
  rehearse(descriptor: Descriptor, answer: Answer): void {
    this.dependencies.limiter.check(rehearsedRules(), descriptor, (outcome) =>
      answer(outcome instanceof NewerRulesError ? RULES_UNAVAILABLE : outcome),
    );
  }

  /**
   * Leaves what a verdict has reserved to whoever knows the name that this answers: any enforcer can end the claim, once. The reservations must not be released or
   * refunded then. Undefined: nothing was reserved, it is too much to be kept, or Redis is away; then what was taken stays taken, and slots time out.
   *
   * @param forMs how long it can be ended, in milliseconds. Never rejects
   */
  async claim({ reservations }: Verdict, forMs: number): Promise<string | undefined> {
    const { leasing, claims } = this.dependencies;
    const shared = reservations.filter(({ store }) => store === leasing);
    if (shared.length === 0) return undefined;
    return claims.keep(shared, forMs).catch(() => undefined);
  }

  /** Gives back what a claim stands for, as if the request had never come. Rejects if Redis does not answer in time: it may be done then, and to ask again does no harm. */
  refundClaim(name: string): Promise<ClaimOutcome> {
    return this.endClaim(() => this.dependencies.claims.refund(name));
  }

  /** The request of a claim is over: like the release of a reservation. Rejects as `refundClaim` does. @param answer what is known of it */
  settleClaim(name: string, answer?: AnswerFacts): Promise<ClaimOutcome> {
    return this.endClaim(() => this.dependencies.claims.settle(name, answer));
  }

  /** What is switched on now, for this process or for all. */
  get switches(): readonly Switch[] {
    return this.dependencies.rules.switches;
  }

  /** Switches of this process alone, beside those that all have; they replace those of before. For when Redis and the Rules API are away. */
  switchHere(switches: readonly Switch[]): void {
    this.dependencies.rules.switchHere(switches);
  }

  /**
   * Rules of this process alone, which apply to all merchants as default rules do; they replace those of before. Their buckets are shared with every process that has
   * the same rules. Ids are as `Rule` says, and of no stored rule.
   */
  rulesHere(rules: readonly Rule[]): void {
    this.dependencies.rules.rulesHere(rules);
  }

  /** The API keys in use; undefined where nobody is known by one. */
  get apiKeys(): ApiKeys | undefined {
    return this.dependencies.apiKeys;
  }

  /**
   * Counts a request that no descriptor could be made of beside the decisions, and logs it as refused.
   *
   * @param reason becomes a label of a metric: one of a few constants
   */
  countUndescribed(reason: string, requestId = ''): void {
    this.dependencies.decisions.countReason(reason);
    this.dependencies.refusals.withoutVerdict(requestId, reason);
  }

  /** Throws, with the reason, until the default rules have been read once: before that nothing can be decided. */
  readonly assertRulesRead = (): void => {
    if (!this.dependencies.rules.ready) {
      throw new Error('the default rules have not been read yet: neither Redis nor PostgreSQL answered');
    }
  };

  /** Throws, with the reason, while Redis carries out no takes. Decisions go on all the same, as each rule says by its onStoreFailure. */
  readonly assertStoreAvailable = (): void => this.dependencies.storeHealth.check();

  /** Closes all connections and stops all timers. Nothing may be checked afterwards. Never rejects. */
  async close(): Promise<void> {
    const { buckets, changes, leasing, redis, reports, ruleSource, snapshotRedis, spareCapacity, store, storeHealth, subscriber } =
      this.dependencies;
    this.closing.abort();
    this.dependencies.apiKeys?.close();
    for (const timer of this.timers.splice(0)) clearInterval(timer);
    buckets.tell();
    spareCapacity.stop();
    changes.stop();
    const returned = withDeadline(leasing.close(), GIVE_BACK_WITHIN_MS).catch(() => {});
    await Promise.all([this.tellBusyMerchants(), reports.stop(), returned]);
    await withDeadline(leaveGateways(redis, this.id), this.settings.storeTimeoutMs).catch(() => {});
    store.close();
    storeHealth.stop();
    // Two of them may be one.
    for (const connection of new Set([redis, snapshotRedis, subscriber])) connection.disconnect();
    await ruleSource?.close();
    this.logSummary();
  }

  private async endClaim(end: () => Promise<ClaimOutcome>): Promise<ClaimOutcome> {
    if (!this.dependencies.store.readable) throw new StoreUnavailableError('Redis is not answering');
    const outcome = await end();
    if ('keys' in outcome) this.dependencies.buckets.forget(outcome.keys);
    return outcome;
  }

  /** The rules are not at hand. */
  private checkCold(descriptor: Descriptor, answer: Answer, requestId: string, watch: CheckWatch | undefined): void {
    watch?.rulesSought();
    const { rules, store } = this.dependencies;
    const { merchantId, ip } = descriptor;
    rulesInTime(rules.load(merchantId, ip), () => store.readable, this.settings.storeTimeoutMs).then(
      (loaded) => {
        watch?.rulesFound();
        this.checkBy(loaded, descriptor, answer, requestId);
      },
      (error: unknown) => {
        watch?.rulesFound();
        const outdated = rules.lastKnown(merchantId);
        if (outdated !== undefined) this.checkBy(outdated, descriptor, answer, requestId);
        else this.noVerdict(error instanceof TooManyUnknownError ? TOO_MANY_UNKNOWN : RULES_UNAVAILABLE, descriptor, answer, requestId);
      },
    );
  }

  private checkBy(rules: KnownRules, descriptor: Descriptor, answer: Answer, requestId: string, reloads = MAX_RELOADS): void {
    if (rules === 'unknown_merchant') {
      this.noVerdict(UNKNOWN_MERCHANT, descriptor, answer, requestId);
      return;
    }
    const { limiter } = this.dependencies;
    if (limiter.needsBody(rules, descriptor)) {
      // By the rules as they are then: to read a body takes a while.
      descriptor.more!.readBody!(() => this.check(descriptor, answer, requestId));
      return;
    }
    limiter.check(rules, descriptor, (outcome) => {
      if (outcome instanceof NewerRulesError) this.checkAgain(descriptor, answer, requestId, reloads, { rules, atUs: outcome.atUs });
      else this.verdict(outcome, rules, descriptor, answer, requestId);
    });
  }

  /** The bucket knows of an edit that this process does not know yet, or an override has ended. */
  private checkAgain(descriptor: Descriptor, answer: Answer, requestId: string, reloads: number, asked: Asked): void {
    if (reloads === 0) {
      this.noVerdict(RULES_UNAVAILABLE, descriptor, answer, requestId);
      return;
    }
    const { merchantId, ip } = descriptor;
    this.dependencies.rules.reload(merchantId, ip, asked).then(
      (rules) => this.checkBy(rules, descriptor, answer, requestId, reloads - 1),
      () => this.noVerdict(RULES_UNAVAILABLE, descriptor, answer, requestId),
    );
  }

  private verdict(found: Verdict, rules: CountedRules, descriptor: Descriptor, answer: Answer, requestId: string): void {
    const { decisions, refusals, reports, spareCapacity } = this.dependencies;
    const verdict = found.allowed ? found : this.reroutedIfPossible(found);
    decisions.count(verdict);
    if (!verdict.allowed) refusals.verdict(requestId, descriptor, verdict);
    reports.verdict(requestId, descriptor, verdict, rules);
    if (verdict.allowed && !verdict.usedSpare && verdict.reroutedTo === undefined) spareCapacity.countForwarded();
    answer(verdict);
  }

  /** A route that does not exist changes nothing but what is logged and counted. */
  private reroutedIfPossible(verdict: Verdict): Verdict {
    const route = rerouteOf(verdict);
    if (route === undefined) return verdict;
    if (this.settings.hasRoute(route)) return rerouted(verdict, route);
    const rule = verdict.limits.find(({ decision }) => !decision.allowed)!.ruleId;
    this.dependencies.decisions.countUnknownRoute();
    this.unknownRoutes.tell(route, rule, performance.now());
    return verdict;
  }

  private noVerdict(outcome: NoVerdict, descriptor: Descriptor, answer: Answer, requestId: string): void {
    this.dependencies.decisions.countReason(outcome.reason);
    this.dependencies.refusals.withoutVerdict(requestId, outcome.reason, descriptor.merchantId);
    this.dependencies.reports.noVerdict(requestId, descriptor, outcome);
    answer(outcome);
  }

  /** Tells the other enforcers that this one is alive and what it lets pass, and learns the same of them. */
  private async report(perSecond: number): Promise<PlatformLoad> {
    const { gateways, ignored, redis } = this.dependencies;
    const load = await reportLoad(redis, this.id, perSecond, ignored.add);
    gateways.heard(load.gateways);
    return load;
  }

  /** They are read first by the enforcers that start after this one. */
  private async tellBusyMerchants(): Promise<void> {
    const { snapshotRedis, rules } = this.dependencies;
    // Nobody has rules that could be read first.
    if (!this.settings.storedRules) return;
    const merchantIds = rules.firstMerchants(MOST_BUSY_MERCHANTS);
    await withDeadline(writeBusyMerchants(snapshotRedis, merchantIds), this.settings.storeTimeoutMs).catch(() => {});
  }

  private async connectRuleSource(signal: AbortSignal): Promise<void> {
    const onFailure = (err: unknown): void =>
      this.settings.logger.warn({ err }, 'PostgreSQL is away; merchants that are not in Redis cannot be served');
    await this.dependencies.ruleSource?.connect({ signal, onFailure }).catch(() => {});
  }

  /** Once they have been read, the feed of changes keeps them fresh. */
  private async readDefaultRules(signal: AbortSignal): Promise<void> {
    await retryUntilDone(() => this.dependencies.rules.loadDefaults(), { signal }).catch(() => {});
  }

  private logSwitches(): void {
    const { switches } = this;
    const nowMs = performance.now();
    const text = JSON.stringify(switches);
    const { text: before, atMs } = this.saidOfSwitches;
    if (text === before && (switches.length === 0 || nowMs - atMs < REMIND_OF_SWITCHES_EVERY_MS)) return;
    this.saidOfSwitches = { text, atMs: nowMs };
    if (switches.length > 0) this.settings.logger.warn({ switches }, 'limits are switched off, or refuse nobody: see switches');
    else this.settings.logger.warn({ switches }, 'nothing is switched off any more');
  }

  /** In a flood not every refusal has a line of its own: this one says how many have none. */
  private logSummary(): void {
    const { allowed, refused } = this.dependencies.decisions.takeSummary();
    const withoutLine = this.dependencies.refusals.takeLeftOut();
    if (refused + withoutLine > 0)
      this.settings.logger.info({ allowed, refused, withoutLine, seconds: SUMMARY_EVERY_MS / 1000 }, 'requests refused');
  }
}
