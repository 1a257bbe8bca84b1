import { createHash } from 'node:crypto';
import { type Logger, ProblemError } from '#platform';
import { type FailedLogins, RETRY_AFTER_SECONDS } from './failed-logins.js';

/** A token that was revoked is refused this long after it was last looked up, at the latest. Milliseconds. */
const BELIEVED_MS = 1_000;
/** A token that was good is looked up again without being counted as a try for so long. Milliseconds. */
const REMEMBERED_MS = 3_600_000;
const MAX_REMEMBERED = 2_000;
/** Last use is written at most so often. Milliseconds. */
const USE_WRITTEN_EVERY_MS = 60_000;

/** Who has a token. */
export interface Login<P> {
  readonly principal: P;
  /** When the token stops being good by itself; Infinity: never. */
  readonly untilMs: number;
  /** Writes down when it was last used, where somebody wants to know. */
  readonly noteUse?: (at: Date) => Promise<void>;
}

interface Remembered<P> extends Login<P> {
  readonly lookedUpMs: number;
  useWrittenMs: number;
}

export interface LoginsOptions<P> {
  /** Finds out who has a token, or why it is refused. */
  readonly lookUp: (token: string) => Promise<Login<P> | ProblemError>;
  readonly failedLogins: FailedLogins;
  readonly logger: Logger;
  readonly nowMs: () => number;
}

/** Tokens of one kind: remembers for a moment who has them, and bounds how many unknown ones an address may try. */
export class Logins<P> {
  /** By the digest of the token: the token itself is kept nowhere. The one that was looked up first is dropped first. */
  private readonly remembered = new Map<string, Remembered<P>>();

  constructor(private readonly options: LoginsOptions<P>) {}

  /** @param peer the address that tries it. @throws whatever the look-up throws */
  async principal(token: string, peer: string): Promise<P | ProblemError> {
    const { failedLogins, lookUp, nowMs } = this.options;
    const digest = createHash('sha256').update(token).digest('base64');
    const known = this.remembered.get(digest);
    const startedMs = nowMs();
    const age = known === undefined ? Infinity : Math.abs(startedMs - known.lookedUpMs);
    if (known !== undefined && age < BELIEVED_MS && startedMs < known.untilMs) return known.principal;
    const isTry = age > REMEMBERED_MS;
    if (isTry && !failedLogins.mayTry(peer)) return tooManyTries();
    const found = await lookUp(token);
    // Only what nobody knows counts: neither who may do nothing here, nor a failure of ours.
    if (isTry && !(found instanceof ProblemError && found.status === 401)) failedLogins.succeeded(peer);
    if (found instanceof ProblemError) {
      if (found.status < 500) this.remembered.delete(digest);
      return found;
    }
    this.remember(digest, { ...found, lookedUpMs: startedMs, useWrittenMs: known?.useWrittenMs ?? -Infinity });
    return found.principal;
  }

  private remember(digest: string, found: Remembered<P>): void {
    this.remembered.delete(digest);
    if (this.remembered.size >= MAX_REMEMBERED) this.remembered.delete(this.remembered.keys().next().value!);
    this.remembered.set(digest, found);
    if (found.noteUse === undefined || Math.abs(found.lookedUpMs - found.useWrittenMs) < USE_WRITTEN_EVERY_MS) return;
    found.useWrittenMs = found.lookedUpMs;
    found
      .noteUse(new Date(found.lookedUpMs))
      .catch((err: unknown) => this.options.logger.warn({ err }, 'the last use of a token could not be written'));
  }
}

function tooManyTries(): ProblemError {
  return new ProblemError({
    status: 429,
    type: 'too-many-attempts',
    code: 'token.too_many_attempts',
    detail: 'too many tokens that are not known came from your address; wait before you try another one',
    headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
  });
}
