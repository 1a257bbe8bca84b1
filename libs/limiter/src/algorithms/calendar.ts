import type { CalendarUnit } from '../limit.js';
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
 * change ends it. Where midnight does not exist, the day
 * begins with the first instant that it has; where it comes twice, with the first.
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
  const offsetMs = offsetsOf(timeZone);
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
      last = windowAround(unit, Math.floor(nowUs / 1000), offsetMs);
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

/** Whether the name of a time zone is known here. */
export function isTimeZone(value: unknown): value is string {
  // Intl also takes offsets like +01:00, which follow no calendar.
  if (typeof value !== 'string' || !/^[A-Za-z][\w+/-]{0,63}$/.test(value)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: value });
    return true;
  } catch {
    return false;
  }
}

/** Windows that are not computed again: those around now, those of edits. The same window is the same object. */
const REMEMBERED = 512;

/** Milliseconds that local time is ahead of UTC at an instant. */
type Offset = (atMs: number) => number;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

function offsetsOf(timeZone: string): Offset {
  const format = new Intl.DateTimeFormat('en', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (atMs) => {
    const parts = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
    const local = Date.UTC(parts['year']!, parts['month']! - 1, parts['day']!, parts['hour']!, parts['minute']!, parts['second']!);
    return local - Math.floor(atMs / 1000) * 1000;
  };
}

function windowAround(unit: CalendarUnit, nowMs: number, offsetMs: Offset): WindowBounds {
  const offset = offsetMs(nowMs);
  const localMs = nowMs + offset;
  if (unit === 'minute' || unit === 'hour') {
    const length = unit === 'minute' ? MINUTE_MS : HOUR_MS;
    const startMs = Math.floor(localMs / length) * length - offset;
    const endMs = startMs + length;
    const isCutAlike = (atMs: number): boolean => (offsetMs(atMs) - offset) % length === 0;
    return bounds(
      isCutAlike(startMs) ? startMs : firstOf(startMs, nowMs, isCutAlike),
      isCutAlike(endMs - 1) ? endMs : firstOf(nowMs, endMs - 1, (atMs) => !isCutAlike(atMs)),
    );
  }
  const local = new Date(localMs);
  const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()];
  // Monday is the first day of a week.
  const first = unit === 'month' ? 1 : unit === 'week' ? day - ((local.getUTCDay() + 6) % 7) : day;
  const midnight = (plusMonths: number, date: number): number => midnightMs(Date.UTC(year, month + plusMonths, date), offsetMs);
  if (unit === 'year') return bounds(midnight(-month, 1), midnight(12 - month, 1));
  if (unit === 'month') return bounds(midnight(0, 1), midnight(1, 1));
  return bounds(midnight(0, first), midnight(0, first + (unit === 'week' ? 7 : 1)));
}

/** The first instant of a local day. @param localMidnightMs its midnight, as if local time were UTC */
function midnightMs(localMidnightMs: number, offsetMs: Offset): number {
  const before = offsetMs(localMidnightMs - DAY_MS);
  const after = offsetMs(localMidnightMs + DAY_MS);
  const early = localMidnightMs - Math.max(before, after);
  // Both readings of midnight are the same instant, unless clocks change around it.
  if (offsetMs(early) === Math.max(before, after)) return early;
  const late = localMidnightMs - Math.min(before, after);
  return offsetMs(late) === Math.min(before, after) ? late : localMidnightMs - before;
}

/** The first millisecond after one that is not so, up to one that is. */
function firstOf(notMs: number, soMs: number, isSo: (atMs: number) => boolean): number {
  while (soMs - notMs > 1) {
    const middle = Math.floor((notMs + soMs) / 2);
    if (isSo(middle)) soMs = middle;
    else notMs = middle;
  }
  return soMs;
}

const bounds = (startMs: number, endMs: number): WindowBounds => ({ startUs: startMs * 1000, endUs: endMs * 1000 });
