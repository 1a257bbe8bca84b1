/** What became of requests, as it is counted in gateways and as it stands in Redis. */

/** In place of a rule: no rule matched, or none could be asked while Redis was away. Of no merchant: what merchants asked for beyond the bounds of the counters. */
export const NO_RULE = 'none';
/** In place of a rule, and of a merchant: what was beyond the bounds of the counters, and ids that no merchant has. */
export const OTHER_RULE = 'other';
export const OTHER_MERCHANT = '';

/** Numbers of requests under one rule. */
export interface UsageCounts {
  passed: number;
  /** Refused by this rule: what another rule refused is not counted here. */
  refused: number;
  /** What this rule would have refused if it were not a shadow rule. */
  shadowRefused: number;
  /** The smallest share of a limit that remained after a request, in whole percent, rounded down; 100 if no limit was asked. */
  leastPercent: number;
}

/** Those of one rule of a merchant. */
export interface RuleUsage extends UsageCounts {
  readonly ruleId: string;
}

export interface MerchantUsage {
  readonly merchantId: string;
  readonly rules: readonly RuleUsage[];
}

/** What stands in Redis for one minute. */
export interface UsageStep extends RuleUsage {
  /** When the minute began, by the clock of Redis. Milliseconds. */
  readonly atMs: number;
}

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
/** For how long counts are answered. They stay a little longer in Redis. */
export const USAGE_KEPT_MS = 86_400_000;

/** As much as the script writes. */
const MOST_CHARACTERS = 4_200;
const RULE_ID = /^(?:[1-9]\d{0,18}|none|other)$/;
const STEP = /^(\d{1,2}),(\d{1,16}),(\d{1,16}),(\d{1,16}),(\d{1,3})$/;

/**
 * Never throws: what is no count, from an older or newer version or from somebody else, is left out.
 *
 * @param hash what stands in Redis for an hour, by rule
 * @param hour since 1970
 */
export function parseUsage(hash: Readonly<Record<string, string>>, hour: number): UsageStep[] {
  return Object.entries(hash).flatMap(([ruleId, text]) =>
    RULE_ID.test(ruleId) && text.length <= MOST_CHARACTERS ? text.split(';').flatMap((step) => parseStep(ruleId, step, hour)) : [],
  );
}

function parseStep(ruleId: string, text: string, hour: number): UsageStep[] {
  const numbers = STEP.exec(text)?.slice(1).map(Number);
  if (numbers === undefined || !numbers.every(Number.isSafeInteger)) return [];
  const [minute, passed, refused, shadowRefused, leastPercent] = numbers as [number, number, number, number, number];
  if (minute > 59) return [];
  return [{ ruleId, atMs: hour * HOUR_MS + minute * MINUTE_MS, passed, refused, shadowRefused, leastPercent: Math.min(100, leastPercent) }];
}

/** Adds numbers to others of the same rule. */
export function addUsage(to: UsageCounts, { passed, refused, shadowRefused, leastPercent }: UsageCounts): void {
  to.passed += passed;
  to.refused += refused;
  to.shadowRefused += shadowRefused;
  to.leastPercent = Math.min(to.leastPercent, leastPercent);
}
