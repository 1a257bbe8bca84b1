import type { Descriptor, RateLimiter, Verdict } from '#limiter';
import { withDeadline } from '#limiter-redis';
import type { Identity } from '../identity/index.js';
import type { Admission, InboundRequest } from '../proxy/index.js';
import type { DecisionMetrics } from './decision-metrics.js';
import { rateLimitHeaders } from './rate-limit-headers.js';
import { identityRefusal, refusalOf, unavailable, unknownMerchant } from './refusals.js';
import { TooManyUnknownError } from './rule-source.js';
import type { KnownRules, RuleCache } from './rule-cache.js';

export interface AdmissionOptions {
  identify: (request: Pick<InboundRequest, 'rawHeaders' | 'peer'>) => Identity;
  rules: RuleCache;
  limiter: RateLimiter;
  metrics: DecisionMetrics;
  /** Told of each request that passes within the limits. */
  load: { countForwarded(): void };
  /** Whether rules tell upper from lower case in paths. */
  pathCaseSensitive: boolean;
  /** How long a request may wait for rules that are not at hand. Milliseconds. */
  rulesDeadlineMs: () => number;
}

type Done = (admission: Admission) => void;

/** How often a request starts over because its rules turn out to be outdated. */
const MAX_RELOADS = 2;

/** Who is asking, by which rules, and may it pass: decides about every request of the gateway. */
export class RequestAdmission {
  constructor(private readonly options: AdmissionOptions) {}

  readonly admit = (request: InboundRequest, done: Done): void => {
    const identity = this.options.identify(request);
    if ('problem' in identity) {
      this.options.metrics.countReason(identity.problem);
      done(identityRefusal(identity.problem, request.requestId));
      return;
    }
    if (!request.belongsTo(identity.merchantId)) return;
    const descriptor = {
      merchantId: identity.merchantId,
      ip: identity.ip,
      method: request.method,
      target: request.target,
      ignorePathCase: !this.options.pathCaseSensitive,
    };
    const rules = this.options.rules.get(identity.merchantId);
    if (rules !== undefined) {
      this.decide(rules, descriptor, request, done);
      return;
    }
    withDeadline(this.options.rules.load(identity.merchantId, identity.ip), this.options.rulesDeadlineMs()).then(
      (loaded) => this.decide(loaded, descriptor, request, done),
      (error: unknown) => {
        const outdated = this.options.rules.lastKnown(identity.merchantId);
        if (outdated === undefined) this.withoutRules(request, done, error);
        else this.decide(outdated, descriptor, request, done);
      },
    );
  };

  private decide(rules: KnownRules, descriptor: Descriptor, request: InboundRequest, done: Done, reloads = MAX_RELOADS): void {
    if (rules === 'unknown_merchant') {
      this.options.metrics.countReason('unknown_merchant');
      done(unknownMerchant(request.requestId));
      return;
    }
    this.options.limiter.check(rules, descriptor, (outcome) => {
      if (outcome instanceof Error) this.decideAgain(descriptor, request, done, reloads);
      else this.answer(outcome, request, done);
    });
  }

  /** The bucket knows of an edit that this gateway does not know yet. */
  private decideAgain(descriptor: Descriptor, request: InboundRequest, done: Done, reloads: number): void {
    if (reloads === 0) {
      this.withoutRules(request, done);
      return;
    }
    this.options.rules.reload(descriptor.merchantId, descriptor.ip).then(
      (rules) => this.decide(rules, descriptor, request, done, reloads - 1),
      () => this.withoutRules(request, done),
    );
  }

  private answer(verdict: Verdict, request: InboundRequest, done: Done): void {
    this.options.metrics.count(verdict);
    if (!verdict.allowed) {
      done(refusalOf(verdict, request.requestId));
      return;
    }
    if (!verdict.usedSpare) this.options.load.countForwarded();
    const responseHeaders = rateLimitHeaders(verdict.limits);
    const { reservations, waitMs } = verdict;
    done({ forward: true, responseHeaders, waitMs, claims: reservations });
  }

  private withoutRules(request: InboundRequest, done: Done, error?: unknown): void {
    if (error instanceof TooManyUnknownError) {
      this.options.metrics.countReason('too_many_unknown');
      done(
        unavailable(
          'It cannot be said at the moment whether there is such a merchant: too many were asked for that do not exist.',
          request.requestId,
        ),
      );
      return;
    }
    this.options.metrics.countReason('rules_unavailable');
    done(unavailable('The rules of this merchant cannot be read at the moment.', request.requestId));
  }
}
