import { UNREADABLE_BODIES } from './body/json-body.js';
import { costOf, takesOf, type CompiledRule } from './compiled-rule.js';
import type { CostOfField } from './cost.js';
import type { Descriptor } from './descriptor.js';
import { costsTooMuch, ruleShare } from './local-share.js';
import type { ChosenRules, MerchantRules, NowMs } from './merchant-rules.js';
import { type NewerRulesError, NO_SPARE_CAPACITY, StoreUnavailableError, type BucketStore, type SpareCapacity } from './ports.js';
import { type ChargedTakes, Reservation } from './reservation.js';
import type { RetryPolicy } from './retry-policy.js';
import { retryOf } from './retry.js';
import type { StoreFailurePolicy } from './rule.js';
import { allPass, type BucketTake } from './take.js';
import { CLOSED, faulty, NO_MATCHING_RULE, OPEN, verdictOf, type ShadowReport, type Verdict } from './verdict.js';

/** An edit of the rules that the caller has not seen yet is no verdict: it fetches them again and asks again. */
export type CheckOutcome = Verdict | NewerRulesError;

/** Names a request among all that hold slots at a time, on whatever gateway. */
const randomHolder = (): number => Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);

export interface RateLimiterOptions {
  /** None unless given. */
  readonly spareCapacity?: SpareCapacity;
  /** Among how many processes with local stores of their own a limit is shared while the store is away. One unless given. */
  readonly gateways?: () => number;
  readonly newHolder?: () => number;
  /** What is not charged of requests that say by a `retryKey` that they may be retries. Unless given, everything is. */
  readonly retries?: RetryPolicy | undefined;
  /** The clock on the wall, for rules that apply at some times only. Without it, to check by one of them throws. */
  readonly nowMs?: NowMs;
}

/** Chooses the rules of a request, takes from their buckets, and merges the answers into a verdict. */
export class RateLimiter {
  private readonly spareCapacity: SpareCapacity;
  private readonly gateways: () => number;
  private readonly newHolder: () => number;
  private readonly nowMs: NowMs | undefined;
  private readonly retries: RetryPolicy | undefined;

  constructor(
    private readonly store: BucketStore,
    /** Serves rules that say `local` while the store is away. */
    private readonly localStore: BucketStore,
    options: RateLimiterOptions = {},
  ) {
    this.spareCapacity = options.spareCapacity ?? NO_SPARE_CAPACITY;
    this.gateways = options.gateways ?? (() => 1);
    this.newHolder = options.newHolder ?? randomHolder;
    this.nowMs = options.nowMs;
    this.retries = options.retries;
  }

  /** Whether the rules look at the body of a request, which has not been read: then `more.readBody` comes first, and without it the body's fields are absent. */
  needsBody(rules: MerchantRules, descriptor: Descriptor): boolean {
    return rules.readBodies && rules.needBody(descriptor, this.nowMs);
  }

  /** Calls back once, perhaps before it returns. A store that is away is no error here: what that means is in the rules. */
  check(rules: MerchantRules, descriptor: Descriptor, answer: (outcome: CheckOutcome) => void): void {
    const chosen = rules.choose(descriptor, this.nowMs);
    const faultyVerdict = chosen.priced || chosen.refusingBody !== undefined ? faultOf(chosen, descriptor) : undefined;
    if (chosen.closed) answer(CLOSED);
    else if (faultyVerdict !== undefined) answer(faultyVerdict);
    else if (chosen.shadow.length === 0) this.enforce(chosen, descriptor, answer);
    else this.checkWithShadow(chosen, descriptor, answer);
  }

  private enforce({ enforced: rules, takes, elastic }: ChosenRules, descriptor: Descriptor, answer: (outcome: CheckOutcome) => void): void {
    if (rules.length === 0) {
      answer(NO_MATCHING_RULE);
      return;
    }
    const room = elastic ? this.spareCapacity.reserve() : 0;
    const reservation = this.reservation(this.store, rules, descriptor, room > 0, takes);
    this.store.take(reservation, (outcome, atUs, source, state, marks) => {
      if (state !== undefined) reservation.is(state);
      const said = outcome instanceof Error ? undefined : verdictOf(rules, reservation.answered(outcome, atUs, marks), source ?? 'store');
      const verdict = state === 'retried' && said !== undefined ? { ...said, retried: true as const } : said;
      if (room > 0 && !verdict?.usedSpare) this.spareCapacity.giveBack(room);
      if (outcome instanceof StoreUnavailableError) {
        // Slots are perhaps taken, and no request is going to use them.
        reservation.release();
        this.withoutStore(rules, descriptor, answer);
      } else {
        answer(verdict ?? (outcome as NewerRulesError));
      }
    });
  }

  /** The strictest of the chosen rules decides: one that is closed refuses, or leased, because what was lent has been looked at; local ones are asked, open ones let pass. */
  private withoutStore(rules: readonly CompiledRule[], descriptor: Descriptor, answer: (outcome: CheckOutcome) => void): void {
    const withPolicy = (policy: StoreFailurePolicy) => rules.filter(({ rule }) => rule.onStoreFailure === policy);
    const local = withPolicy('local');
    if (withPolicy('closed').length + withPolicy('leased').length > 0) answer(CLOSED);
    else if (local.length === 0) answer(OPEN);
    else this.decideLocally(local, descriptor, answer);
  }

  private decideLocally(rules: readonly CompiledRule[], descriptor: Descriptor, answer: (outcome: CheckOutcome) => void): void {
    const gateways = this.gateways();
    const shares = rules.map((compiled) => ruleShare(compiled, gateways).compiled);
    const reservation = this.reservation(this.localStore, shares, descriptor);
    this.localStore.take(reservation, (outcome, atUs) => {
      if (outcome instanceof Error) {
        answer(CLOSED);
        return;
      }
      const verdict = verdictOf(shares, reservation.answered(outcome, atUs), 'local', gateways);
      // What costs more than a share of its limit passes again when the store is back: that is not never.
      const isForNow = verdict.reason === 'cost_exceeds_capacity' && !rules.some((compiled) => costsTooMuch(compiled, descriptor));
      answer(isForNow ? { ...verdict, reason: 'store_unavailable', retryAfterMs: 'unknown' } : verdict);
    });
  }

  /**
   * Each shadow rule is asked by itself, so that one that is exhausted does not hide the others; none is asked about a request whose refusal is
   * remembered, which is to cost nothing.
   */
  private checkWithShadow(chosen: ChosenRules, descriptor: Descriptor, answer: (outcome: CheckOutcome) => void): void {
    const { shadow } = chosen;
    let missing = shadow.length + 1;
    const reports: ShadowReport[] = [];
    let enforcedOutcome: CheckOutcome | undefined;
    const reservations: Reservation[] = [];
    const arrived = (): void => {
      if (--missing > 0) return;
      const enforced = enforcedOutcome!;
      const told = { shadowRefusals: reports.filter(({ refused }) => refused).length, shadow: reports };
      if (enforced instanceof Error || !enforced.allowed) {
        for (const reservation of reservations) reservation.refund();
        answer(enforced instanceof Error ? enforced : { ...enforced, ...told });
      } else {
        answer({ ...enforced, ...told, reservations: [...enforced.reservations, ...reservations] });
      }
    };
    this.enforce(chosen, descriptor, (outcome) => {
      enforcedOutcome = outcome;
      if (isRemembered(outcome)) answer(outcome);
      else arrived();
    });
    if (isRemembered(enforcedOutcome)) return;
    for (const compiled of shadow) {
      if (compiled.price !== undefined && costOf(compiled, descriptor) === undefined) {
        reports.push({ ruleId: compiled.rule.id, refused: true });
        arrived();
        continue;
      }
      const reservation = this.reservation(this.store, [compiled], descriptor);
      this.store.take(reservation, (outcome, atUs, _source, state, marks) => {
        if (state !== undefined) reservation.is(state);
        if (!(outcome instanceof Error)) {
          const refused = !allPass(reservation, outcome);
          reports.push({ ruleId: compiled.rule.id, refused });
          if (!refused) reservations.push(reservation.answered(outcome, atUs, marks));
        }
        arrived();
      });
    }
  }

  /** @param kept what these rules take of this merchant, if that is always the same */
  private reservation(
    store: BucketStore,
    rules: readonly CompiledRule[],
    descriptor: Descriptor,
    spare = false,
    kept?: readonly BucketTake[],
  ): Reservation {
    const holdsSlots = rules.length === 1 ? rules[0]!.holdsSlots : rules.some((compiled) => compiled.holdsSlots);
    const takes = kept !== undefined && descriptor.times === undefined ? kept : takesOf(rules, descriptor);
    const { merchantId, retryKey } = descriptor;
    const mayBeRetry = this.retries !== undefined && retryKey !== undefined && store === this.store;
    const retry = mayBeRetry ? retryOf(takes, merchantId, retryKey, this.retries) : undefined;
    return new Reservation(store, takes, holdsSlots, holdsSlots ? this.newHolder() : 0, spare, chargedBy(rules), retry);
  }
}

/** Which of the takes of these rules wait for the answer. */
function chargedBy(rules: readonly CompiledRule[]): readonly ChargedTakes[] | undefined {
  if (!rules.some(({ charge }) => charge !== undefined)) return undefined;
  const charged: ChargedTakes[] = [];
  let from = 0;
  for (const { charge, buckets } of rules) {
    const to = from + buckets.limits.length + (buckets.penalty === undefined ? 0 : 1);
    if (charge !== undefined) charged.push({ charge, from, to });
    from = to;
  }
  return charged;
}

/** Why a request is refused for what stands in it; undefined if it is not. */
function faultOf({ refusingBody, enforced }: ChosenRules, descriptor: Descriptor): Verdict | undefined {
  if (refusingBody !== undefined) {
    const detail = UNREADABLE_BODIES[descriptor.more!.body!.unreadable!];
    return faulty('unreadable_body', { rule: refusingBody, field: 'body', detail });
  }
  const invalid = enforced.find((compiled) => costOf(compiled, descriptor) === undefined);
  if (invalid === undefined) return undefined;
  const { rule } = invalid;
  const { field, max, scale = 1 } = rule.cost as CostOfField;
  const detail = `must be a number from 0 on that costs at most ${max} tokens at ${scale} each`;
  return faulty('invalid_cost', { rule, field, detail });
}

/** Then it came at once. */
function isRemembered(outcome: CheckOutcome | undefined): boolean {
  return outcome !== undefined && !(outcome instanceof Error) && outcome.source === 'memory';
}
