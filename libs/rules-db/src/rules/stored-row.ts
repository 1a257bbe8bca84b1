import { storedRule, UnreadableError } from '#limiter';
import type { RuleEntity } from './rule.entity.js';

/** Versions count edits, and nobody makes so many. A larger version would outrank every true one for ever, so it is refused. */
const MAX_VERSION = 1_000_000_000_000;

/** Parses a version from a column of type bigint; `at` names the column in the error. @throws UnreadableError */
export function storedVersion(value: unknown, at: string): number {
  const version = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : NaN;
  if (version >= 0 && version <= MAX_VERSION) return version;
  throw new UnreadableError(`${at}: must be a whole number from 0 to ${MAX_VERSION}, got ${String(value).slice(0, 40)}`);
}

/** Whether a stored rule fits its type. Its columns hold JSON of any shape, and somebody may have edited the row by hand. */
export function isReadableRule(rule: RuleEntity): boolean {
  try {
    storedRule(rule);
    return true;
  } catch (error) {
    if (error instanceof UnreadableError) return false;
    throw error;
  }
}
