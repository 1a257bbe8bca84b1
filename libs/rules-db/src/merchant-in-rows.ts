import { isMerchantId, isPlanName, type MerchantSnapshot, type StoredRules, storedRules, storedTimeZone, UnreadableError } from '#limiter';
import { overridesIn } from './override-column.js';
import { asRule, type RuleRow } from './rule-columns.js';
import { storedVersion } from './stored-row.js';

/** One merchant with one of its enabled rules. */
export interface MerchantRow extends RuleRow {
  readonly merchant_id: string;
  readonly rules_version: string;
  readonly exists: boolean;
  readonly time_zone: string;
  /** The plan of the merchant. */
  readonly plan: string | null;
  /** JSON of any shape. */
  readonly overrides?: unknown;
}

/** A merchant whose stored rules, version or time zone cannot be parsed. */
export interface UnreadableMerchant {
  readonly merchantId: string;
  /** 0 if the version itself cannot be parsed. */
  readonly version: number;
  readonly unreadable: UnreadableError;
}

/** Whether a merchant could be parsed. */
export function isReadable(merchant: MerchantSnapshot | UnreadableMerchant): merchant is MerchantSnapshot {
  return !('unreadable' in merchant);
}

/** The merchant that the rows are about; undefined without rows. */
export function merchantIn(rows: readonly MerchantRow[]): MerchantSnapshot | UnreadableMerchant | undefined {
  const [first] = rows;
  if (first === undefined) return undefined;
  const { merchant_id: merchantId, exists, overrides } = first;
  let version = 0;
  try {
    version = storedVersion(first.rules_version, 'merchant.rules_version');
    if (!isMerchantId(merchantId)) throw new UnreadableError('merchant.id: is none that a request could carry');
    return {
      merchantId,
      version,
      exists,
      timeZone: storedTimeZone(first.time_zone, 'merchant.time_zone'),
      ...(first.plan !== null && { plan: planNameAt(first.plan, 'merchant.plan') }),
      ...rulesIn(rows),
      ...(overrides !== null && overrides !== undefined && { overrides: overridesIn(overrides) }),
    };
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    return { merchantId, version, unreadable: error };
  }
}

/** @throws UnreadableError */
export function planNameAt(value: unknown, at: string): string {
  if (!isPlanName(value)) throw new UnreadableError(`${at}: is no name of a plan`);
  return value;
}

/** @throws UnreadableError */
export function rulesIn(rows: readonly RuleRow[]): StoredRules {
  return storedRules(rows.filter(({ rule_id: id }) => id !== null).map(asRule));
}
