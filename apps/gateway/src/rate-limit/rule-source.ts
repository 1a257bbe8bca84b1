import type { DefaultRulesSnapshot, MerchantSnapshot } from '#limiter';
import type { Found, UnreadableText } from '#limiter-redis';

/** Where a gateway gets rules from first. Nothing found says nothing about the merchant. */
export interface SnapshotSource {
  find(merchantId: string): Promise<Found<MerchantSnapshot>>;
  findDefaultRules(): Promise<Found<DefaultRulesSnapshot>>;
  /** What was read from PostgreSQL, for the other gateways. */
  write(snapshots: readonly MerchantSnapshot[], ttlMs: number): Promise<unknown>;
  /** The same, in place of what could not be read. */
  mend(snapshot: MerchantSnapshot, instead: UnreadableText, ttlMs: number): Promise<unknown>;
  mendDefaultRules(snapshot: DefaultRulesSnapshot, instead: UnreadableText): Promise<unknown>;
}

/** The truth behind the snapshots. Null from `snapshot` means that the merchant does not exist. */
export interface RuleDatabase {
  snapshot(merchantId: string): Promise<MerchantSnapshot | null>;
  defaultRules(): Promise<DefaultRulesSnapshot>;
}

/** Neither Redis nor PostgreSQL could say what the rules are. */
export class RulesUnavailableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RulesUnavailableError';
  }
}

/** Redis does not know the merchant, and so many ids were nobody's lately that PostgreSQL is not asked about another one now. */
export class TooManyUnknownError extends RulesUnavailableError {
  constructor() {
    super('too many ids that nobody created were asked for lately');
    this.name = 'TooManyUnknownError';
  }
}
