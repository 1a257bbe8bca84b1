import { Temporal } from 'temporal-polyfill';
import type { CalendarUnit } from '../fields/common-fields.js';
import type { WindowBounds, Windows } from './windows.js';

const DAY_MS = 86_400_000;

/** The windows of calendars, the longest that they are but for days of 25 hours. */
export const CALENDAR_MS: Record<CalendarUnit, number> = {
  minute: 60_000,
  hour: 3_600_000,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 31 * DAY_MS,
  year: 366 * DAY_MS,
};

/**
 * Windows of the calendar in a time zone. Days, weeks (from Monday), months and years begin at local midnight, so they are an hour
 * shorter or longer where clocks change; minutes and hours are of one length, unless clocks change in the middle of one: then the
 * change ends it. Where midnight does not exist, the day begins with the first instant that it has; where it comes twice, with the first.
 */
export function calendarWindows(unit: CalendarUnit, timeZone: string): Windows {
  const name = `${unit} ${timeZone}`;
  let windows = CALENDARS.get(name);
  if (windows === undefined) {
    if (CALENDARS.size === MOST_CALENDARS) CALENDARS.clear();
    CALENDARS.set(name, (windows = newWindows(unit, timeZone)));
  }
  return windows;
}

/** By unit and time zone: the limits of all merchants share them, because windows of a time zone are dear to compute. */
const CALENDARS = new Map<string, Windows>();
const MOST_CALENDARS = 1000;

function newWindows(unit: CalendarUnit, timeZone: string): Windows {
  /** By time; they do not overlap. */
  const known: WindowBounds[] = [];
  let last: WindowBounds | undefined;
  return {
    lengthUs: 0,
    around(nowUs) {
      if (last !== undefined && nowUs >= last.startUs && nowUs < last.endUs) return last;
      const at = countUntil(known, nowUs);
      const candidate = known[at - 1];
      if (candidate !== undefined && nowUs < candidate.endUs) return (last = candidate);
      last = windowAround(unit, Math.floor(nowUs / 1000), timeZone);
      if (known.length < REMEMBERED) known.splice(at, 0, last);
      else known.splice(0, known.length, last);
      return last;
    },
  };
}

/** How many of the windows begin at an instant or before. */
function countUntil(windows: readonly WindowBounds[], atUs: number): number {
  let low = 0;
  let high = windows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (windows[middle]!.startUs <= atUs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Windows that are not computed again: those around now, those of edits. The same window is the same object. */
const REMEMBERED = 512;

function windowAround(unit: CalendarUnit, nowMs: number, timeZone: string): WindowBounds {
  const now = localTime(nowMs, timeZone);
  if (unit === 'minute' || unit === 'hour') return clockWindow(now, CALENDAR_MS[unit]);
  const first = firstDay(unit, now.toPlainDate());
  const next = first.add({ [`${unit}s`]: 1 });
  // A date becomes the first instant of its day, also where that is not midnight.
  return bounds(first.toZonedDateTime(timeZone).epochMilliseconds, next.toZonedDateTime(timeZone).epochMilliseconds);
}

function firstDay(unit: 'day' | 'week' | 'month' | 'year', date: Temporal.PlainDate): Temporal.PlainDate {
  switch (unit) {
    case 'day':
      return date;
    case 'week':
      return date.subtract({ days: date.dayOfWeek - 1 });
    case 'month':
      return date.with({ day: 1 });
    case 'year':
      return date.with({ month: 1, day: 1 });
  }
}

/** A minute or an hour, cut short where clocks change in the middle of it. */
function clockWindow(now: Temporal.ZonedDateTime, lengthMs: number): WindowBounds {
  const { epochMilliseconds: nowMs, timeZoneId } = now;
  const offsetMs = offsetOf(now);
  const startMs = Math.floor((nowMs + offsetMs) / lengthMs) * lengthMs - offsetMs;
  const endMs = startMs + lengthMs;
  const isCutAlike = (atMs: number): boolean => (offsetOf(localTime(atMs, timeZoneId)) - offsetMs) % lengthMs === 0;
  const changeMs = (afterMs: number, direction: 'previous' | 'next'): number =>
    localTime(afterMs, timeZoneId).getTimeZoneTransition(direction)!.epochMilliseconds;
  return bounds(
    // The change before the next millisecond may be now.
    isCutAlike(startMs) ? startMs : changeMs(nowMs + 1, 'previous'),
    isCutAlike(endMs - 1) ? endMs : changeMs(nowMs, 'next'),
  );
}

function localTime(atMs: number, timeZone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timeZone);
}

/** Milliseconds that local time is ahead of UTC. */
function offsetOf({ offsetNanoseconds }: Temporal.ZonedDateTime): number {
  return offsetNanoseconds / 1e6;
}

const bounds = (startMs: number, endMs: number): WindowBounds => ({ startUs: startMs * 1000, endUs: endMs * 1000 });
