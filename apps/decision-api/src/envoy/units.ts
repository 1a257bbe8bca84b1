const WINDOWS: Readonly<Record<string, number>> = {
  SECOND: 1_000,
  MINUTE: 60_000,
  HOUR: 3_600_000,
  DAY: 86_400_000,
  WEEK: 604_800_000,
  MONTH: 2_592_000_000,
  YEAR: 31_536_000_000,
};

const UNITS: ReadonlyMap<number, string> = new Map(Object.entries(WINDOWS).map(([unit, windowMs]) => [windowMs, unit]));

/** The window of a unit of Envoy's protocol, in milliseconds, as envoyproxy/ratelimit counts it; undefined for what is no unit. */
export function windowMsOf(unit: string): number | undefined {
  return Object.hasOwn(WINDOWS, unit) ? WINDOWS[unit] : undefined;
}

/** The unit that has this window; undefined if there is none. */
export function unitOfWindow(windowMs: number): string | undefined {
  return UNITS.get(windowMs);
}

/** The names of units, in the order of their length. */
export const UNIT_NAMES: readonly string[] = Object.keys(WINDOWS);
