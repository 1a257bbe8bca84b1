import type { Descriptor, LimitReport, Verdict } from '#limiter';
import type { EnforcerLogger } from '../enforcer-options.js';
import { hashedKeyOf } from './personal-hash.js';
import { NO_MERCHANT, SecondBound } from './second-bound.js';

export interface RefusalLogOptions {
  readonly logger: Pick<EnforcerLogger, 'info'>;
  /** Lines in a second; 0: none. A quarter of them for one merchant. */
  readonly perSecond: number;
  /** With which personal parts of bucket keys are hashed. */
  readonly secret: string;
  /** Milliseconds that never step back. */
  readonly now?: () => number;
}

/**
 * A line of the log for each refused request, as long as there are few. It says who was refused by which limit, and nothing that leads to a person.
 * Beyond its bounds a refusal costs a comparison and a counter.
 */
export class RefusalLog {
  private readonly bound: SecondBound;
  private readonly now: () => number;
  private leftOut = 0;

  constructor(private readonly options: RefusalLogOptions) {
    this.bound = new SecondBound(options.perSecond);
    this.now = options.now ?? (() => performance.now());
  }

  /** @param verdict that is a refusal */
  verdict(requestId: string, descriptor: Descriptor, verdict: Verdict): void {
    const { merchantId } = descriptor;
    if (!this.mayWrite(merchantId)) return;
    const { reason, source, retryAfterMs, limits } = verdict;
    this.write({ requestId, merchant: merchantId, reason, source, retryAfterMs, ...this.fieldsOf(limits, descriptor) });
  }

  /** @param merchantId as the request says, where it says one */
  withoutVerdict(requestId: string, reason: string, merchantId?: string): void {
    if (this.mayWrite(NO_MERCHANT)) this.write({ requestId, ...(merchantId !== undefined && { merchant: merchantId }), reason });
  }

  /** Refusals since the last call that have no line. */
  takeLeftOut(): number {
    const { leftOut } = this;
    this.leftOut = 0;
    return leftOut;
  }

  private mayWrite(merchantId: string): boolean {
    const { perSecond } = this.options;
    if (perSecond > 0 && this.bound.metBy(merchantId, this.now()) === undefined) {
      this.bound.count(merchantId);
      return true;
    }
    this.leftOut++;
    return false;
  }

  private write(fields: object): void {
    this.options.logger.info(fields, 'request refused');
  }

  /** Of the first limit that refuses; where a penalty does, of the first of its rule. */
  private fieldsOf(limits: readonly LimitReport[], descriptor: Descriptor): object {
    const refusing = limits.filter(({ decision }) => !decision.allowed);
    const named = refusing[0] ?? limits.find(({ rule }) => rule.penalty) ?? limits[0];
    if (named === undefined) return {};
    const { rule, ruleId, limit, cost, decision } = named;
    return {
      ruleId,
      rule: rule.name,
      limit: limit.name,
      capacity: decision.limit,
      remaining: decision.remaining,
      cost,
      key: hashedKeyOf(rule, descriptor, this.options.secret),
      ...(refusing.length > 1 && { otherLimits: refusing.slice(1, 5).map((other) => `${other.rule.name}/${other.limit.name}`) }),
    };
  }
}
