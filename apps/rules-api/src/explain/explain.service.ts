import { Inject, Injectable } from '@nestjs/common';
import {
  type CheckOutcome,
  decisionsBefore,
  type Descriptor,
  type DisabledRule,
  explainChoice,
  isAddressField,
  type ExplainedLayer,
  LookingStore,
  type MerchantRules,
  merchantRules,
  type OverrideTime,
  type Phase,
  phaseAt,
  RateLimiter,
  rerouteOf,
  type Rule,
  timeOfBucket,
  timeOfStore,
  type Verdict,
  isOn,
  switchedRules,
  switchesOf,
  type Switch,
} from '#limiter';
import type { ProblemError } from '#platform';
import { ApplicableRulesReader, MerchantNotFoundError, type MerchantReach, MerchantRepository, type RuleEntity } from '#rules-db';
import { demandAmong } from '../auth/forbidden.js';
import { LiveBuckets } from '../buckets/live-buckets.js';
import { DecisionsService } from '../decisions/decisions.service.js';
import { badBody } from '../http/validation.pipe.js';
import { unreadableRule, UnreadableRules } from '../rules/unreadable-rules.js';
import { describedRequest } from './described-request.js';
import type { ExplainDto, ExplainedSwitch, Explanation } from './explain.dto.js';

/** What a gateway would decide about a request now, and why. Takes nothing; the code that decides is that of the gateways. */
@Injectable()
export class ExplainService {
  private readonly limiter: RateLimiter;

  constructor(
    @Inject(ApplicableRulesReader) private readonly applicable: ApplicableRulesReader,
    @Inject(UnreadableRules) private readonly unreadable: UnreadableRules,
    @Inject(LiveBuckets) private readonly live: LiveBuckets,
    @Inject(DecisionsService) private readonly decisions: DecisionsService,
    @Inject(MerchantRepository) private readonly merchants: MerchantRepository,
  ) {
    const store = new LookingStore(live);
    this.limiter = new RateLimiter(store, store, { nowMs: Date.now });
  }

  /** @param among the merchants to which the bearer is limited; null: all. @throws MerchantNotFoundError, ProblemError */
  async explain(body: ExplainDto, among: MerchantReach): Promise<Explanation> {
    const { merchantId, request, ...how } = await this.described(body, among);
    demandAmong(merchantId, await this.merchants.narrowed(among, [merchantId]));
    this.live.demandConfigured();
    const { compile, phase, disabled, switches } = await this.rulesOf(merchantId);
    const descriptor = { ...describedRequest(merchantId, request), ...how };
    const now: OverrideTime = { atMs: this.live.nowMs };
    const current = compile(now);
    demandKeyParts(current, descriptor, request.ip, body.requestId === undefined ? '/request/ip' : '/ip');
    const { verdict, rules } = await this.check(current, { compile, phase }, descriptor, { time: now, attempts: MOST_ATTEMPTS });
    return { ...explanation(verdict, explainChoice(rules, descriptor, disabled, Date.now)), switches: switches.map(switchShown) };
  }

  /** The request that the body describes, or that of the receipt that it names. */
  private async described({ requestId, ip, merchantId, request }: ExplainDto, among: MerchantReach): Promise<DescribedRequest> {
    if (requestId === undefined) {
      if (ip !== undefined) throw notApplicable('ip', 'goes with requestId only; a request has an ip of its own');
      return { merchantId: merchantId!, request: request! };
    }
    if (merchantId !== undefined || request !== undefined)
      throw notApplicable(request === undefined ? 'merchantId' : 'request', 'does not go with requestId, whose receipt says it');
    const { pathIsCut, ignorePathCase, method, path, ...receipt } = await this.decisions.receipt(requestId, among);
    if (pathIsCut) throw notApplicable('requestId', 'names a request whose path is too long for a receipt; describe the request instead');
    return { merchantId: receipt.merchantId, request: { method, path, ...(ip !== undefined && { ip }) }, ignorePathCase };
  }

  private async rulesOf(merchantId: string): Promise<RulesOfMerchant> {
    const stored = await this.applicable.read(merchantId);
    if (!stored) throw new MerchantNotFoundError(merchantId);
    const { timeZone, overrides } = stored;
    const [own, defaults] = [stored.own.map(this.readable), stored.defaults.map(this.readable)];
    const plan = stored.ofPlan?.map(this.readable);
    const nowMs = this.live.nowMs;
    const switches = stored.switches.filter((each) => isOn(each, nowMs));
    const switched = (rules: readonly Rule[]): readonly Rule[] => switchedRules(rules, switches, merchantId);
    const disabledOf = (rules: readonly Rule[], source: DisabledRule['source']) =>
      rules.filter(({ enabled }) => !enabled).map((rule) => ({ rule, source }));
    return {
      compile: (time) =>
        merchantRules(merchantId, switched(own), switched(defaults), { timeZone, plan: plan && switched(plan), overrides, time }),
      switches: switchesOf(switches, merchantId),
      phase: ({ atMs }) => phaseAt(overrides, atMs),
      disabled: [...disabledOf(own, 'merchant'), ...disabledOf(plan ?? [], 'plan'), ...disabledOf(defaults, 'default')],
    };
  }

  private readonly readable = (rule: RuleEntity): Rule => {
    const fault = this.unreadable.faultOf(rule);
    if (fault !== undefined) throw unreadableRule(rule, fault);
    return rule;
  };

  /** As a gateway does: where an override has ended by the clock of Redis, or not yet, that holds. */
  private async check(
    rules: MerchantRules,
    { compile, phase }: Pick<RulesOfMerchant, 'compile' | 'phase'>,
    descriptor: Descriptor,
    { time, attempts }: { time: OverrideTime; attempts: number },
  ): Promise<{ verdict: Verdict; rules: MerchantRules }> {
    const outcome = await new Promise<CheckOutcome>((resolve) => this.limiter.check(rules, descriptor, resolve));
    if (outcome instanceof Error) {
      const next = timeOfStore(phase(time), outcome.atUs / 1000) ?? timeOfBucket(phase(time));
      if (next !== undefined && attempts > 1)
        return this.check(compile(next), { compile, phase }, descriptor, { time: next, attempts: attempts - 1 });
      throw this.live.unavailable('the buckets were written under newer rules than PostgreSQL has; ask again');
    }
    // What gateways do then is theirs to say: a local bucket is in a gateway, not here.
    if (outcome.reason === 'store_unavailable') throw this.live.unavailable('Redis does not say what the buckets hold');
    return { verdict: outcome, rules };
  }
}

/** The rules of a merchant, at any time. */
interface RulesOfMerchant {
  readonly compile: (time: OverrideTime) => MerchantRules;
  readonly phase: (time: OverrideTime) => Phase;
  readonly disabled: DisabledRule[];
  /** What is switched on and concerns the merchant. */
  readonly switches: readonly Switch[];
}

/** Once for the clock of Redis, once for a bucket that knows more. */
const MOST_ATTEMPTS = 3;

interface DescribedRequest {
  readonly merchantId: string;
  readonly request: NonNullable<ExplainDto['request']>;
  readonly ignorePathCase?: boolean;
}

function notApplicable(field: string, detail: string): ProblemError {
  return badBody([{ pointer: `/${field}`, code: `explain.${field}.not_applicable`, detail }]);
}

function demandKeyParts(rules: MerchantRules, descriptor: Descriptor, ip: string | undefined, pointer: string): void {
  const { enforced, shadow } = rules.choose(descriptor, Date.now);
  const needsIp = [...enforced, ...shadow].find(({ rule }) => rule.key.some(isAddressField));
  if (needsIp === undefined || ip !== undefined) return;
  const detail = `must be given, because the key of rule ${needsIp.rule.id} has the address`;
  throw badBody([{ pointer, code: 'explain.ip.missing', detail }]);
}

function switchShown({ name, layer, merchantId, untilMs }: Switch): ExplainedSwitch {
  return { name, layer, merchantId, until: untilMs === null ? null : new Date(untilMs).toISOString() };
}

function explanation(verdict: Verdict, layers: readonly ExplainedLayer[]): Omit<Explanation, 'switches'> {
  const { allowed, reason, limits, shadowRefusals, fault } = verdict;
  // What is there now, and not what the request would leave behind.
  const levels = decisionsBefore(verdict);
  const reroutedTo = rerouteOf(verdict);
  const keys = new Map(layers.flatMap(({ considered }) => considered.map(({ rule }) => [rule.id, rule.key] as const)));
  return {
    verdict: { allowed, reason, status: allowed ? 200 : fault === undefined ? 429 : 400, ...(reroutedTo !== undefined && { reroutedTo }) },
    layers: layers.map(({ layer, considered }) => ({
      layer,
      chosen: considered.find(({ chosen, mode }) => chosen && mode === 'enforce')?.rule.id ?? null,
      considered: considered.map(({ rule: { id, name }, source, mode, matched, why, override }) => ({
        ruleId: id,
        name,
        source,
        mode,
        matched,
        why,
        override: override === undefined ? null : { id: override.id, until: new Date(override.untilMs).toISOString() },
      })),
    })),
    buckets: limits.map(({ ruleId, limit, decision }, i) => {
      const { remaining, resetAfterMs, withheld } = levels?.[i] ?? decision;
      const retryAfterMs = decision.retryAfterMs === 'never' ? null : decision.retryAfterMs;
      const held = { remaining, ...(withheld !== undefined && { withheld }), retryAfterMs, resetAfterMs };
      return { ruleId, limit: limit.name, key: keys.get(ruleId) ?? [], ...held };
    }),
    shadowRefusals,
  };
}
