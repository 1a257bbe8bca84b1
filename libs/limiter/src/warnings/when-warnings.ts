import { isPlainObject } from '../field-faults.js';
import { shown } from '../shown.js';
import type { RuleWarning } from './rule-warning.js';

/** A validity or a schedule that never comes true. Of a rule without these fields there is nothing to say. */
export function whenWarnings(rule: object, nowMs: number): RuleWarning[] {
  const { validFrom, validTo, schedule } = rule as Readonly<Record<string, unknown>>;
  return [...validityWarnings(validFrom, validTo, nowMs), ...scheduleWarnings(schedule)];
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

/** A schedule of which every entry has no days. What an entry from and to the same time means is for the schedule to say. */
function scheduleWarnings(schedule: unknown): RuleWarning[] {
  if (!isPlainObject(schedule)) return [];
  const { weekly } = schedule;
  if (!Array.isArray(weekly)) return [];
  const isEmpty = weekly.every((entry: unknown) => isPlainObject(entry) && Array.isArray(entry['days']) && entry['days'].length === 0);
  return isEmpty ? [{ code: 'rule.schedule.never', pointer: '/schedule', detail: 'has no day in it: the rule never applies' }] : [];
}
