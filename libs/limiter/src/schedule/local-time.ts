import { Temporal } from 'temporal-polyfill';

const MINUTE_MS = 60_000;
const MINUTES_OF_WEEK = 7 * 24 * 60;
/** 1970 began on a Thursday, which is so many minutes after Monday. */
const EPOCH_MINUTE = 3 * 24 * 60;

/** What clocks of a time zone show: the minute of the week, from Monday 00:00. */
export type LocalTime = (nowMs: number) => number;

/** A time between two changes of the clocks, in which local time is ahead of UTC by one offset. */
interface Period {
  readonly fromMs: number;
  readonly toMs: number;
  readonly offsetMs: number;
}

/** Rules of all merchants share the clocks of a time zone. */
export function localTimeOf(timeZone: string): LocalTime {
  let time = CLOCKS.get(timeZone);
  if (time === undefined) {
    if (CLOCKS.size >= MOST_CLOCKS) CLOCKS.clear();
    CLOCKS.set(timeZone, (time = newLocalTime(timeZone)));
  }
  return time;
}

const CLOCKS = new Map<string, LocalTime>();
const MOST_CLOCKS = 1000;

/** Only a change of the clocks asks the calendar: between two of them local time is UTC and an offset. */
function newLocalTime(timeZone: string): LocalTime {
  let period: Period | undefined;
  return (nowMs) => {
    if (period === undefined || nowMs < period.fromMs || nowMs >= period.toMs) period = periodAround(Math.floor(nowMs), timeZone);
    const minutes = Math.floor((nowMs + period.offsetMs) / MINUTE_MS) + EPOCH_MINUTE;
    return ((minutes % MINUTES_OF_WEEK) + MINUTES_OF_WEEK) % MINUTES_OF_WEEK;
  };
}

function periodAround(nowMs: number, timeZone: string): Period {
  const at = (ms: number) => Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone);
  const now = at(nowMs);
  return {
    // The change before the next millisecond may be now.
    fromMs: at(nowMs + 1).getTimeZoneTransition('previous')?.epochMilliseconds ?? -Infinity,
    toMs: now.getTimeZoneTransition('next')?.epochMilliseconds ?? Infinity,
    offsetMs: now.offsetNanoseconds / 1e6,
  };
}
