import { isPlainObject } from '../fields/field-faults.js';
import { activeTimes } from '../schedule/active-times.js';
import type { Schedule } from '../schedule/schedule-fields.js';
import { shown } from '../fields/shown.js';
import type { RuleWarning } from './rule-warning.js';

/** A validity or a schedule that never comes true. Of a rule without these fields there is nothing to say. */
export function whenWarnings(rule: object, nowMs: number): RuleWarning[] {
  const { validFrom, validTo, schedule } = rule as Readonly<Record<string, unknown>>;
  const ofValidity = validityWarnings(validFrom, validTo, nowMs);
  return ofValidity.length > 0 ? ofValidity : scheduleWarnings(schedule, Math.max(momentOf(validFrom) ?? nowMs, nowMs), momentOf(validTo));
}

function validityWarnings(validFrom: unknown, validTo: unknown, nowMs: number): RuleWarning[] {
  const [from, to] = [momentOf(validFrom), momentOf(validTo)];
  if (to === undefined) return [];
  if (from !== undefined && to <= from) {
    const detail = `is not after validFrom, ${shown(validFrom)}: the rule never applies; got ${shown(validTo)}`;
    return [{ code: 'rule.valid_to.before_start', pointer: '/validTo', detail }];
  }
  if (to > nowMs) return [];
  return [{ code: 'rule.valid_to.past', pointer: '/validTo', detail: `has passed: the rule never applies; got ${shown(validTo)}` }];
}

function momentOf(value: unknown): number | undefined {
  const moment = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(moment) ? undefined : moment;
}

/** A schedule without a day, or none of whose windows is open while the rule is still valid. What an entry from and to the same time means is for the schedule to say. */
function scheduleWarnings(schedule: unknown, fromMs: number, toMs: number | undefined): RuleWarning[] {
  if (!isPlainObject(schedule) || !Array.isArray(schedule['weekly'])) return [];
  const isEmpty = schedule['weekly'].every((entry) => isPlainObject(entry) && Array.isArray(entry['days']) && entry['days'].length === 0);
  const never = (detail: string): RuleWarning[] => [{ code: 'rule.schedule.never', pointer: '/schedule', detail }];
  if (isEmpty) return never('has no day in it: the rule never applies');
  if (toMs === undefined || opensWithin(schedule as Schedule, fromMs, toMs)) return [];
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString());
  return never(`has no window between ${from} and ${to}, while the rule is valid: the rule never applies`);
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Each minute of a week comes within eight days, unless clocks jump over it: of longer validities nothing is said. */
const LONGEST_LOOK_MS = 8 * 24 * HOUR_MS;
/** Clocks of a time zone show at most so much less, and so much more, than those of UTC. */
const FARTHEST_WEST_MS = 12 * HOUR_MS;
const FARTHEST_EAST_MS = 14 * HOUR_MS;

/** Whether a window may be open from one moment to the one before the other. A schedule without a time zone follows that of each merchant, which may be any. */
function opensWithin(schedule: Schedule, fromMs: number, toMs: number): boolean {
  if (toMs - fromMs > LONGEST_LOOK_MS) return true;
  const isAnywhere = schedule.timeZone === undefined;
  const [first, end] = isAnywhere ? [fromMs - FARTHEST_WEST_MS, toMs + FARTHEST_EAST_MS] : [fromMs, toMs];
  const inactive = activeTimes({ schedule });
  for (let ms = first; ms < end; ms += MINUTE_MS) if (inactive?.(ms) === undefined) return true;
  return inactive?.(end - 1) === undefined;
}
