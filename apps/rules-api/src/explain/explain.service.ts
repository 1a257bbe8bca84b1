import { Inject, Injectable } from '@nestjs/common';
import { canonicalAddress } from '#addresses';
import {
  type CheckOutcome,
  decide,
  type Decision,
  type Descriptor,
  type DisabledRule,
  explainChoice,
  type ExplainedLayer,
  LookingStore,
  type MerchantRules,
  merchantRules,
  RateLimiter,
  type Rule,
  type Verdict,
} from '#limiter';
import { MerchantNotFoundError, MerchantRepository, MAX_RULES_PER_OWNER, type RuleEntity, type RuleOwner, RuleRepository } from '#rules-db';
import { demandAmong } from '../auth/forbidden.js';
import { LiveBuckets } from '../buckets/live-buckets.js';
import { badBody } from '../http/validation.pipe.js';
import { unreadableRule, UnreadableRules } from '../rules/unreadable-rules.js';
import type { ExplainDto, Explanation } from './explain.dto.js';

/** What a gateway would decide about a request now, and why. Takes nothing; the code that decides is that of the gateways. */
@Injectable()
export class ExplainService {
  private readonly limiter: RateLimiter;

  constructor(
    @Inject(MerchantRepository) private readonly merchants: MerchantRepository,
    @Inject(RuleRepository) private readonly rules: RuleRepository,
    @Inject(UnreadableRules) private readonly unreadable: UnreadableRules,
    @Inject(LiveBuckets) private readonly live: LiveBuckets,
  ) {
    const store = new LookingStore(live);
    this.limiter = new RateLimiter(store, store);
  }

  /** @param among the merchants to which the bearer is limited; null: all. @throws MerchantNotFoundError, ProblemError */
  async explain({ merchantId, request }: ExplainDto, among: readonly string[] | null): Promise<Explanation> {
    demandAmong(merchantId, among);
    this.live.demandConfigured();
    const { compiled, disabled } = await this.rulesOf(merchantId);
    const [path = ''] = request.path.split('?');
    const descriptor = { merchantId, ip: canonicalAddress(request.ip ?? ''), method: request.method, target: path };
    demandKeyParts(compiled, descriptor, request.ip);
    const layers = explainChoice(compiled, descriptor, disabled);
    return explanation(await this.check(compiled, descriptor), layers);
  }

  private async rulesOf(merchantId: string): Promise<{ compiled: MerchantRules; disabled: DisabledRule[] }> {
    const merchant = await this.merchants.find(merchantId);
    if (!merchant) throw new MerchantNotFoundError(merchantId);
    const { plan: planName } = merchant;
    const [own, plan, defaults] = await Promise.all([
      this.rulesOfOwner(merchantId),
      planName === null ? undefined : this.rulesOfOwner({ plan: planName }),
      this.rulesOfOwner(null),
    ]);
    const disabledOf = (rules: readonly Rule[], source: DisabledRule['source']) =>
      rules.filter(({ enabled }) => !enabled).map((rule) => ({ rule, source }));
    return {
      compiled: merchantRules(merchantId, own, defaults, { timeZone: merchant.timeZone, plan }),
      disabled: [...disabledOf(own, 'merchant'), ...disabledOf(plan ?? [], 'plan'), ...disabledOf(defaults, 'default')],
    };
  }

  private async rulesOfOwner(owner: RuleOwner): Promise<Rule[]> {
    return (await this.rules.list(owner, { limit: MAX_RULES_PER_OWNER })).map(this.readable);
  }

  private readonly readable = (rule: RuleEntity): Rule => {
    const fault = this.unreadable.faultOf(rule);
    if (fault !== undefined) throw unreadableRule(rule, fault);
    return rule;
  };

  private async check(rules: MerchantRules, descriptor: Descriptor): Promise<Verdict> {
    const outcome = await new Promise<CheckOutcome>((resolve) => this.limiter.check(rules, descriptor, resolve));
    if (outcome instanceof Error) throw this.live.unavailable('the buckets were written under newer rules than PostgreSQL has; ask again');
    // What gateways do then is theirs to say: a local bucket is in a gateway, not here.
    if (outcome.reason === 'store_unavailable') throw this.live.unavailable('Redis does not say what the buckets hold');
    return outcome;
  }
}

function demandKeyParts(rules: MerchantRules, descriptor: Descriptor, ip: string | undefined): void {
  const { enforced, shadow } = rules.choose(descriptor);
  const needsIp = [...enforced, ...shadow].find(({ rule }) => rule.key.includes('ip'));
  if (needsIp === undefined || ip !== undefined) return;
  const detail = `must be given, because the key of rule ${needsIp.rule.id} has ip`;
  throw badBody([{ pointer: '/request/ip', code: 'explain.ip.missing', detail }]);
}

function explanation(verdict: Verdict, layers: readonly ExplainedLayer[]): Explanation {
  const { allowed, reason, limits, shadowRefusals } = verdict;
  const levels = levelsNow(verdict);
  const keys = new Map(layers.flatMap(({ considered }) => considered.map(({ rule }) => [rule.id, rule.key] as const)));
  return {
    verdict: { allowed, reason, status: allowed ? 200 : 429 },
    layers: layers.map(({ layer, considered }) => ({
      layer,
      chosen: considered.find(({ chosen, rule }) => chosen && rule.mode === 'enforce')?.rule.id ?? null,
      considered: considered.map(({ rule: { id, name, mode }, source, matched, why }) => ({
        ruleId: id,
        name,
        source,
        mode,
        matched,
        why,
      })),
    })),
    buckets: limits.map(({ ruleId, limit, decision }, i) => {
      const { remaining, resetAfterMs } = levels?.[i] ?? decision;
      const retryAfterMs = decision.retryAfterMs === 'never' ? null : decision.retryAfterMs;
      return { ruleId, limit: limit.name, key: keys.get(ruleId) ?? [], remaining, retryAfterMs, resetAfterMs };
    }),
    shadowRefusals,
  };
}

/** A verdict says what a request that passes leaves behind; this says what is there before it. Undefined for a refusal, which leaves everything as it is. */
function levelsNow({ reservations: [enforced] }: Verdict): readonly Decision[] | undefined {
  if (enforced === undefined) return undefined;
  const asked = enforced.takes.map(({ bucket, cost }, i) => ({ bucket, decision: decide(bucket, enforced.levels[i]!, cost, false) }));
  return asked.filter(({ bucket }) => bucket.kind !== 'penalty').map(({ decision }) => decision);
}
