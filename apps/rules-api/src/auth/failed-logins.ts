import { Allowances, type Clock } from '#limiter';

export const RETRY_AFTER_SECONDS = 3;

/**
 * Bounds how many bearers that nobody has seen before an address may try. Each try costs a look into the database, or at a signature. An
 * administrator who mistypes a token is not locked out; whoever guesses is slowed down to one try in three seconds.
 */
export class FailedLogins {
  private readonly tries: Allowances;

  constructor(clock: Clock = Date.now) {
    this.tries = new Allowances({ capacity: 20, refillTokens: 1, refillIntervalMs: RETRY_AFTER_SECONDS * 1_000, most: 10_000, clock });
  }

  /** Whether this address may try another one; counts the try. */
  mayTry(peer: string): boolean {
    return this.tries.take(peer) === 0;
  }

  /** The try was none: the bearer is known. */
  succeeded(peer: string): void {
    this.tries.giveBack(peer);
  }
}
