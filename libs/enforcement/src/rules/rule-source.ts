import type { DefaultRulesSnapshot, MerchantSnapshot, PlanSnapshot } from '#limiter';
import type { Found, UnreadableText } from '#limiter-redis';

/** Where rules are looked for first. That nothing is found says nothing about the merchant. Bounds its own time, and rejects then. */
export interface SnapshotSource {
  find(merchantId: string): Promise<Found<MerchantSnapshot>>;
  findDefaultRules(): Promise<Found<DefaultRulesSnapshot>>;
  findPlan(plan: string): Promise<Found<PlanSnapshot>>;
  /** Keeps what was read from the rule source, for the other enforcers. */
  write(snapshots: readonly MerchantSnapshot[], ttlMs: number): Promise<unknown>;
  writePlan(snapshot: PlanSnapshot): Promise<unknown>;
  /** The same, in place of what could not be read. */
  mend(snapshot: MerchantSnapshot, instead: UnreadableText, ttlMs: number): Promise<unknown>;
  mendDefaultRules(snapshot: DefaultRulesSnapshot, instead: UnreadableText): Promise<unknown>;
  mendPlan(snapshot: PlanSnapshot, instead: UnreadableText): Promise<unknown>;
}

/** The truth behind the snapshots. Null from `snapshot` means that the merchant does not exist. */
export interface RuleSource {
  snapshot(merchantId: string): Promise<MerchantSnapshot | null>;
  defaultRules(): Promise<DefaultRulesSnapshot>;
  /** Null if there never was such a plan. */
  plan(name: string): Promise<PlanSnapshot | null>;
}

/** Of reads for requests that have waited for Redis already, so many at once find a connection that is open: one of the default rules, and one of a merchant. */
export const HURRIED_READS = 2;

/** A rule source that has to be connected to, and let go. */
export interface RuleSourceConnection extends RuleSource {
  /** Tries until it is there; rejects only when the signal aborts. `onFailure` is told each reason for which attempts fail. */
  connect(options: { readonly signal: AbortSignal; readonly onFailure: (error: unknown) => void }): Promise<void>;
  /** Reads for nobody, on as many connections as are kept open, so that the first merchant waits neither for a plan of a statement nor for the compiler. */
  rehearse?(): Promise<void>;
  /** Also if it was never connected. */
  close(): Promise<void>;
}

/** Neither Redis nor PostgreSQL could say what the rules are. */
export class RulesUnavailableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RulesUnavailableError';
  }
}

/** Redis does not know the merchant, and so many ids turned out to be unknown lately that the rule source is not asked about another one now. */
export class TooManyUnknownError extends RulesUnavailableError {
  constructor() {
    super('too many unknown ids were asked for lately');
    this.name = 'TooManyUnknownError';
  }
}

/** The one that is thrown: a flood meets thousands of them a second, and to note the stack of each costs more than the rest of the refusal. */
export const TOO_MANY_UNKNOWN_IDS = new TooManyUnknownError();
