import { isPlainObject } from '../fields/field-faults.js';
import type { RuleSpec } from '../rules/rule.js';
import { shown } from '../fields/shown.js';
import type { RuleWarning } from './rule-warning.js';

/** What became of requests under a rule within one minute, as gateways count it. */
export interface CountedMinute {
  /** When it began. Milliseconds. */
  readonly atMs: number;
  readonly passed: number;
  readonly refused: number;
  readonly shadowRefused: number;
  /** The smallest share of any limit of the rule that remained after a request, in whole percent, rounded down. */
  readonly leastPercent: number;
}

/** What gateways have counted under a rule of a merchant within a day. */
export interface DayOfUse {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly minutes: readonly CountedMinute[];
  /** Whether requests of the merchant were asked no rule: what they would have taken nobody knows. */
  readonly hasUncounted: boolean;
}

/** A rule as it was written for a time. */
export interface PastVersion {
  /** From when on it was in force. Milliseconds. */
  readonly fromMs: number;
  /** As it was stored: nobody has checked it. */
  readonly rule: unknown;
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** For so long after an edit a gateway may still have decided by the version before, clocks of different machines included. */
const SPREAD_MS = 300_000;

/** A burst is called unused if all clients together never used a tenth of it. */
const PARTS = 10;

/**
 * Whether what was counted says how far clients went: there were requests in each hour, so that no time is missing in which Redis or a gateway forgot what it
 * had counted; none was refused; and each minute shows that its requests took something, as those under a shadow rule do not.
 */
export function isTelling({ fromMs, minutes, hasUncounted }: DayOfUse): boolean {
  if (hasUncounted) return false;
  if (
    !minutes.every(({ passed, refused, shadowRefused, leastPercent }) => passed > 0 && refused + shadowRefused === 0 && leastPercent < 100)
  )
    return false;
  const hours = new Set(minutes.map(({ atMs }) => Math.floor((atMs - fromMs) / HOUR_MS)));
  return Array.from({ length: 24 }, (_, i) => i).every((hour) => hours.has(hour));
}

/**
 * Bursts that no client came near within a day. Only what is certain is said: it is an upper bound of what was used that is far from the capacity. A share
 * that remained is one of all limits of the rule, so it is a bound for each of them.
 * @param versions those that were in force within the day, the oldest first, which has to be older than the day
 */
export function unusedBursts({ limits }: Pick<RuleSpec, 'limits'>, day: DayOfUse, versions: readonly PastVersion[]): RuleWarning[] {
  const [first] = versions;
  if (first === undefined || first.fromMs > day.fromMs || !isTelling(day)) return [];
  return limits.flatMap((limit, i) => {
    const capacity = burstOf(limit);
    const used = capacity === undefined ? undefined : mostUsed(limit.name, day, versions);
    if (used === undefined || used * PARTS >= capacity!) return [];
    const detail = `is more than ten times what any client used at once within the last day, at most ${used} of the limit ${shown(limit.name)}; got ${capacity}`;
    return [{ code: 'limit.capacity.unused', pointer: `/limits/${i}/capacity`, detail }];
  });
}

/** At most so many tokens of a limit were used at once; undefined if that is not known of each version. */
function mostUsed(name: string, { minutes, untilMs }: DayOfUse, versions: readonly PastVersion[]): number | undefined {
  const used = versions.map(({ fromMs, rule }, i): number | undefined => {
    const toMs = versions[i + 1]?.fromMs ?? untilMs;
    const within = minutes.filter(({ atMs }) => atMs >= fromMs - SPREAD_MS - MINUTE_MS && atMs <= toMs + SPREAD_MS);
    if (within.length === 0) return 0;
    const capacity = burstNamed(rule, name);
    const least = Math.min(...within.map(({ leastPercent }) => leastPercent));
    return capacity === undefined ? undefined : Math.ceil((capacity * (100 - least)) / 100);
  });
  return used.includes(undefined) ? undefined : Math.max(...(used as number[]));
}

function burstNamed(rule: unknown, name: string): number | undefined {
  if (!isPlainObject(rule) || rule['mode'] !== 'enforce' || !Array.isArray(rule['limits'])) return undefined;
  return burstOf(rule['limits'].find((limit: unknown) => isPlainObject(limit) && limit['name'] === name));
}

/** What a bucket that fills with time holds. One that admits more than that for a time says nothing here. */
function burstOf(limit: unknown): number | undefined {
  if (!isPlainObject(limit)) return undefined;
  const { algorithm, capacity, throttle = 'hard' } = limit;
  if ((algorithm !== 'token_bucket' && algorithm !== 'gcra') || throttle !== 'hard') return undefined;
  return typeof capacity === 'number' && Number.isSafeInteger(capacity) && capacity > 0 ? capacity : undefined;
}
