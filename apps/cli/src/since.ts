import { isMoment } from '#limiter';

const DAY_MS = 24 * 60 * 60 * 1_000;

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** What is kept of decisions goes back for a day; a little more is allowed, because clocks differ and somebody has to type. */
const LONGEST_AGO_MS = DAY_MS + 5 * 60_000;

/** Clocks of two machines differ. */
const MOST_AHEAD_MS = 60_000;

/** The moment that an option names, in milliseconds since 1970, or what is wrong with it: a time with its zone, or how long ago it was. */
export function sinceMs(text: string, nowMs: number): number | string {
  const ms = agoMs(text, nowMs) ?? (isMoment(text) ? Date.parse(text) : NaN);
  if (Number.isNaN(ms)) {
    return `--since must be how long ago it begins, like 30s, 15m or 2h, or a time with a zone, like 2026-11-22T10:00:00Z or 2026-11-22T11:00:00+01:00; got ${text || 'nothing'}.`;
  }
  if (ms > nowMs + MOST_AHEAD_MS) return `--since must not lie in the future: it is ${new Date(nowMs).toISOString()} now; got ${text}.`;
  if (ms < nowMs - LONGEST_AGO_MS) return `--since must lie within the last day, for which decisions are kept; got ${text}.`;
  return ms;
}

function agoMs(text: string, nowMs: number): number | undefined {
  const [, number, unit] = /^(\d{1,6})([smh])$/.exec(text) ?? [];
  return number === undefined || unit === undefined ? undefined : nowMs - Number(number) * UNIT_MS[unit]!;
}
