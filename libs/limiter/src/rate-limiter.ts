import type { Descriptor } from './descriptor.js';
import { allPass } from './all-or-nothing.js';
import { Claim } from './claim.js';
import { costsTooMuch, sharedRule } from './local-share.js';
import { chooseRules, takesOf, type ChosenRules, type MerchantRules, type ReadyRule } from './merchant-rules.js';
import {
  NewerRulesError,
  NO_SPARE_CAPACITY,
  StoreUnavailableError,
  type BucketStore,
  type BucketTake,
  type SpareCapacity,
} from './ports.js';
import type { StoreFailurePolicy } from './rule.js';
import { CLOSED, NO_MATCHING_RULE, OPEN, verdictOf, type Verdict } from './verdict.js';

/** An edit of the rules that the caller has not seen yet is no verdict: it fetches them again and asks again. */
export type CheckOutcome = Verdict | NewerRulesError;

/** Names a request among all that hold slots at a time, on whatever gateway. */
const randomSlot = (): number => Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);

export interface RateLimiterOptions {
  /** None unless given. */
  readonly spareCapacity?: SpareCapacity;
  /** Among how many processes with local stores of their own a limit is shared while the store is away. One unless given. */
  readonly gateways?: () => number;
  readonly newSlot?: () => number;
}

/** Chooses the rules of a request, takes from their buckets, and merges the answers into a verdict. */
export class RateLimiter {
  private readonly spareCapacity: SpareCapacity;
  private readonly gateways: () => number;
  private readonly newSlot: () => number;

  constructor(
    private readonly store: BucketStore,
    /** Serves rules that say `local` while the store is away. */
    private readonly localStore: BucketStore,
    options: RateLimiterOptions = {},
  ) {
    this.spareCapacity = options.spareCapacity ?? NO_SPARE_CAPACITY;
    this.gateways = options.gateways ?? (() => 1);
    this.newSlot = options.newSlot ?? randomSlot;
  }

  /** Calls back once, perhaps before it returns. A store that is away is no error here: what that means is in the rules. */
  check(rules: MerchantRules, descriptor: Descriptor, answer: (outcome: CheckOutcome) => void): void {
    const chosen = chooseRules(rules, descriptor);
    if (chosen.shadow.length === 0) this.enforce(chosen, descriptor, answer);
    else this.checkWithShadow(chosen, descriptor, answer);
  }

  private enforce({ enforced: rules, elastic }: ChosenRules, descriptor: Descriptor, answer: (outcome: CheckOutcome) => void): void {
    if (rules.length === 0) {
      answer(NO_MATCHING_RULE);
      return;
    }
    const claim = this.claim(this.store, rules, descriptor);
    const reservation = elastic ? this.spareCapacity.reserve() : 0;
    const spare = reservation > 0;
    this.store.take(
      claim.takes,
      (outcome, atUs, remembered) => {
        const verdict =
          outcome instanceof Error ? undefined : verdictOf(rules, claim.answered(outcome, atUs), remembered ? 'memory' : 'store', spare);
        if (spare && !verdict?.usedSpare) this.spareCapacity.giveBack(reservation);
        if (outcome instanceof StoreUnavailableError) {
          // Slots are perhaps taken, and nobody is going to use them.
          claim.release();
          this.withoutStore(rules, descriptor, answer);
        } else {
          answer(verdict ?? (outcome as NewerRulesError));
        }
      },
      claim.slot,
      spare,
    );
  }

  /** The strictest of the chosen rules has the word: one that is closed closes, local ones are asked, open ones pass. */
  private withoutStore(rules: readonly ReadyRule[], descriptor: Descriptor, answer: (outcome: CheckOutcome) => void): void {
    const withPolicy = (policy: StoreFailurePolicy) => rules.filter(({ rule }) => rule.onStoreFailure === policy);
    const local = withPolicy('local');
    if (withPolicy('closed').length > 0) answer(CLOSED);
    else if (local.length === 0) answer(OPEN);
    else this.decideLocally(local, descriptor, answer);
  }

  private decideLocally(rules: readonly ReadyRule[], descriptor: Descriptor, answer: (outcome: CheckOutcome) => void): void {
    const parts = this.gateways();
    const shares = rules.map((ready) => sharedRule(ready, parts).ready);
    const claim = this.claim(this.localStore, shares, descriptor);
    this.localStore.take(
      claim.takes,
      (outcome, atUs) => {
        if (outcome instanceof Error) {
          answer(CLOSED);
          return;
        }
        const verdict = verdictOf(shares, claim.answered(outcome, atUs), 'local', false, parts);
        // What costs more than a share of its limit passes again when the store is back: that is not never.
        const isForNow = verdict.reason === 'cost_exceeds_capacity' && !rules.some(costsTooMuch);
        answer(isForNow ? { ...verdict, reason: 'store_unavailable' } : verdict);
      },
      claim.slot,
    );
  }

  /**
   * Each shadow rule is asked by itself, so that one that is exhausted does not hide the others; none is asked about a request whose refusal is
   * remembered, which is to cost nothing.
   */
  private checkWithShadow(chosen: ChosenRules, descriptor: Descriptor, answer: (outcome: CheckOutcome) => void): void {
    const { shadow } = chosen;
    let missing = shadow.length + 1;
    let shadowRefusals = 0;
    let enforcedOutcome: CheckOutcome | undefined;
    const claims: Claim[] = [];
    const arrived = (): void => {
      if (--missing > 0) return;
      const enforced = enforcedOutcome!;
      if (enforced instanceof Error || !enforced.allowed) {
        for (const claim of claims) claim.refund();
        answer(enforced instanceof Error ? enforced : { ...enforced, shadowRefusals });
      } else {
        answer({ ...enforced, shadowRefusals, claims: [...enforced.claims, ...claims] });
      }
    };
    this.enforce(chosen, descriptor, (outcome) => {
      enforcedOutcome = outcome;
      if (isRemembered(outcome)) answer(outcome);
      else arrived();
    });
    if (isRemembered(enforcedOutcome)) return;
    for (const ready of shadow) {
      const claim = this.claim(this.store, [ready], descriptor);
      this.store.take(
        claim.takes,
        (outcome, atUs) => {
          if (!(outcome instanceof Error)) {
            if (!allPass(claim.takes, outcome, false)) shadowRefusals++;
            else claims.push(claim.answered(outcome, atUs));
          }
          arrived();
        },
        claim.slot,
      );
    }
  }

  private claim(store: BucketStore, rules: readonly ReadyRule[], descriptor: Descriptor): Claim {
    const takes = allTakes(rules, descriptor);
    const holdsSlots = rules.length === 1 ? rules[0]!.holdsSlots : rules.some((ready) => ready.holdsSlots);
    return new Claim(store, takes, holdsSlots, holdsSlots ? this.newSlot() : 0);
  }
}

/** Then it came at once. */
function isRemembered(outcome: CheckOutcome | undefined): boolean {
  return outcome !== undefined && !(outcome instanceof Error) && outcome.source === 'memory';
}

function allTakes(rules: readonly ReadyRule[], descriptor: Descriptor): readonly BucketTake[] {
  return rules.length === 1 ? takesOf(rules[0]!, descriptor) : rules.flatMap((ready) => takesOf(ready, descriptor));
}
