import type { Rule } from '../rules/rule.js';
import { localTimeOf } from './local-time.js';
import { momentMs } from './moment.js';
import { type Schedule, WEEKDAYS } from './schedule-fields.js';

const DAY = 24 * 60;
const WEEK = 7 * DAY;

/** Why a rule does not apply at a time. */
export type InactiveReason = 'not_valid_yet' | 'no_longer_valid' | 'outside_schedule';

/** Tells why a rule does not apply at an instant; undefined while it does. */
export type ActiveTimes = (nowMs: number) => InactiveReason | undefined;

/** Minutes of the week: from the first to the one before the second. */
type Window = readonly [number, number];

/** @returns undefined for a rule that applies at any time. @param timeZone of a schedule that names none */
export function activeTimes(
  { validFrom, validTo, schedule }: Pick<Rule, 'validFrom' | 'validTo' | 'schedule'>,
  timeZone = 'Etc/UTC',
): ActiveTimes | undefined {
  if (!validFrom && !validTo && !schedule) return undefined;
  const fromMs = validFrom ? momentMs(validFrom) : -Infinity;
  const toMs = validTo ? momentMs(validTo) : Infinity;
  const isScheduled = schedule ? scheduled(schedule, timeZone) : () => true;
  return (nowMs) => {
    if (nowMs < fromMs) return 'not_valid_yet';
    if (nowMs >= toMs) return 'no_longer_valid';
    return isScheduled(nowMs) ? undefined : 'outside_schedule';
  };
}

/**
 * A window is what the clocks on the wall show: where they jump forward it is shorter by what they leave out, and where they are set back, what they show twice
 * counts twice.
 */
function scheduled({ timeZone: own, weekly }: Schedule, timeZone: string): (nowMs: number) => boolean {
  const localTime = localTimeOf(own ?? timeZone);
  const windows = weekly.flatMap(({ days, from, to }) =>
    days.flatMap((day) => windowsOf(WEEKDAYS.indexOf(day) * DAY, minutes(from), minutes(to))),
  );
  return (nowMs) => {
    const minute = localTime(nowMs);
    return windows.some(([first, end]) => minute >= first && minute < end);
  };
}

/** One that ends on the next day may end in the next week. */
function windowsOf(day: number, from: number, to: number): Window[] {
  const start = day + from;
  const end = day + (to > from ? to : to + DAY);
  return end <= WEEK
    ? [[start, end]]
    : [
        [start, WEEK],
        [0, end - WEEK],
      ];
}

function minutes(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}
