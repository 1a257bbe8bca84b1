import type { DefaultRulesSnapshot, MerchantSnapshot } from '#limiter';

/** Where a gateway gets rules from, nearest first. Null means: not here, which says nothing about the merchant. */
export interface SnapshotSource {
  read(merchantId: string): Promise<MerchantSnapshot | null>;
  readDefaultRules(): Promise<DefaultRulesSnapshot | null>;
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
