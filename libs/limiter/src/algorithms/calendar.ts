import type { CalendarUnit } from '../limit.js';
import type { WindowBounds, Windows } from './fixed-window.js';

/**
 * Windows of the calendar in a time zone. Days, weeks (from Monday), months and years begin at local midnight, so they are an hour
 * shorter or longer where clocks change; minutes and hours are always of one length. Where midnight does not exist, the day
 * begins with the first instant that it has; where it comes twice, with the first.
 */
export function calendarWindows(unit: CalendarUnit, timeZone: string): Windows {
  const offsetMs = offsetsOf(timeZone);
  const known: WindowBounds[] = [];
  return {
    lengthUs: 0,
    around(nowUs) {
      for (const window of known) if (nowUs >= window.startUs && nowUs < window.endUs) return window;
      const window = windowAround(unit, Math.floor(nowUs / 1000), offsetMs);
      if (known.push(window) > REMEMBERED) known.shift();
      return window;
    },
  };
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

/** Windows that are not computed again: that of now, those beside it, those of edits. The same window is the same object. */
const REMEMBERED = 8;

/** Milliseconds that local time is ahead of UTC at an instant. */
type Offset = (atMs: number) => number;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

function offsetsOf(timeZone: string): Offset {
  const format = new Intl.DateTimeFormat('en', {
    timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric',
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
    return bounds(startMs, startMs + length);
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

const bounds = (startMs: number, endMs: number): WindowBounds => ({ startUs: startMs * 1000, endUs: endMs * 1000 });
