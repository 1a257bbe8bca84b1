import { UnreadableError } from '#limiter';

/**
 * Everything that is read from Redis is input from outside: another version of Tollgate may have written it, or somebody with
 * redis-cli. What cannot be read is ignored, counted and said, and never ends a process.
 */

/** What was read. Fit for a label. */
export type StoredKind =
  'snapshot' | 'default_rules' | 'plan' | 'rule' | 'change' | 'change_counters' | 'busy_merchants' | 'load' | 'claim';

/** Why it is not believed. Fit for a label. */
export type UnreadableReason = 'malformed' | 'newer_format' | 'implausible_version' | 'too_large' | 'wrong_type';

export interface Unreadable {
  readonly kind: StoredKind;
  readonly reason: UnreadableReason;
  /** For the log: where and what. No merchant's id, nothing long. */
  readonly detail: string;
}

export type OnUnreadable = (what: Unreadable) => void;

/** What a parser found. */
export type Parsed<T> = { readonly value: T } | { readonly reason: UnreadableReason; readonly detail: string };

/** A reason of its own, where it is not that something is malformed. */
export class StoredError extends UnreadableError {
  constructor(
    readonly reason: UnreadableReason,
    message: string,
  ) {
    super(message);
  }
}

/** For the error of a command: that the key has another type is an answer, everything else is thrown again. */
export function otherType(error: unknown): { readonly reason: 'wrong_type'; readonly detail: string } {
  if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return { reason: 'wrong_type', detail: 'the key has another type' };
  throw error;
}

/**
 * The one place that parses JSON from Redis. Whatever `read` or the JSON parser throws, too deep a nesting included, is an answer.
 *
 * @param read throws UnreadableError
 */
export function parsed<T>(text: string, mostCharacters: number, read: (value: unknown) => T): Parsed<T> {
  if (text.length > mostCharacters) return { reason: 'too_large', detail: `more than ${mostCharacters} characters` };
  try {
    return { value: read(JSON.parse(text)) };
  } catch (error) {
    if (error instanceof StoredError) return { reason: error.reason, detail: error.message };
    // The message of a SyntaxError quotes the text.
    return { reason: 'malformed', detail: error instanceof UnreadableError ? error.message : `not readable (${(error as Error).name})` };
  }
}
