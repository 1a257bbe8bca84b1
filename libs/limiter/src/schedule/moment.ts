import { Temporal } from 'temporal-polyfill';
import { textFormat } from '../fields/text-formats.js';

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)$/;

/** Whether a text is a moment with its zone: a time without one would be another moment for each reader. */
export function isMoment(text: string): boolean {
  if (!RFC_3339.test(text)) return false;
  try {
    Temporal.Instant.from(text);
    return true;
  } catch {
    return false;
  }
}

/** Milliseconds since 1970. @param text a moment */
export function momentMs(text: string): number {
  return Temporal.Instant.from(text).epochMilliseconds;
}

export const MOMENT = textFormat('must be a time with a zone like 2026-11-22T10:00:00Z', isMoment, { pattern: RFC_3339.source });
