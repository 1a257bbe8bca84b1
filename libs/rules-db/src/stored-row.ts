import { storedRule, UnreadableError } from '#limiter';
import { type RuleEntity } from './rule.entity.js';

/** Versions count edits. So many nobody makes: such a one would stand in the way of every true one for ever. */
const MOST_VERSIONS = 1_000_000_000_000;

/** A version as it comes from a column of type bigint. @throws UnreadableError */
export function storedVersion(value: unknown, at: string): number {
  const version = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : NaN;
  if (version >= 0 && version <= MOST_VERSIONS) return version;
  throw new UnreadableError(`${at}: must be a whole number from 0 to ${MOST_VERSIONS}, got ${String(value).slice(0, 40)}`);
}

/** Whether a rule is what its type says. Columns hold JSON of any shape, and rows have been edited by hand before. */
export function isReadableRule(rule: RuleEntity): boolean {
  try {
    storedRule(rule);
    return true;
  } catch (error) {
    if (error instanceof UnreadableError) return false;
    throw error;
  }
}
