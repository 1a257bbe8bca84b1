import { hash } from 'node:crypto';
import { Gate } from '#enforcement';
import { type CacheEntry, SieveCache } from '#limiter';
import type { Caller, TokenProblem } from './caller.js';
import type { CheckedToken, CheckToken } from './token-check.js';

interface Known extends CacheEntry, CheckedToken {
  /** When it was checked, by a clock that never steps back. */
  readonly checkedMs: number;
}

export interface KnownTokensOptions {
  readonly check: CheckToken;
  /** What good tokens may take in memory, by estimate; those that are used seldom go first. */
  readonly maxBytes?: number;
  readonly nowMs?: () => number;
  /** Milliseconds that never step back. */
  readonly running?: () => number;
}

/** Without its claims, of at most two bytes a character. */
const TOKEN_BYTES = 600;
const WRONG_BYTES = 300;
const WRONG_MAX_BYTES = 2 ** 20;
/** A token is checked again after so long, although it is good for longer: the issuer may have withdrawn its key. */
const BELIEVED_MS = 300_000;
/** A wrong one: it may become valid. */
const REFUSED_MS = 1_000;
/** A signature takes some ten microseconds of a thread. */
const CHECKS_AT_ONCE = 8;
const MOST_WAITING = 1_000;

/**
 * The tokens in use, by their hash, so that a request does not cost a signature. What is good is believed until it ends, and for BELIEVED_MS at most; what is wrong
 * for a second. Tokens themselves are not kept.
 */
export class KnownTokens {
  private readonly good: SieveCache<Known>;
  private readonly wrong = new SieveCache<Known>(WRONG_MAX_BYTES);
  private readonly checking = new Map<string, Promise<Caller | TokenProblem>>();
  private readonly gate = new Gate(CHECKS_AT_ONCE, MOST_WAITING);
  private readonly nowMs: () => number;
  private readonly running: () => number;

  constructor(private readonly options: KnownTokensOptions) {
    const { maxBytes = 32 * 2 ** 20, nowMs = Date.now, running = () => performance.now() } = options;
    this.good = new SieveCache(maxBytes);
    this.nowMs = nowMs;
    this.running = running;
  }

  get size(): number {
    return this.good.size;
  }

  /** What a token says, if that is at hand; undefined: it has to be checked. @param id see `idOf` */
  get(id: string): Caller | TokenProblem | undefined {
    const known = this.good.get(id);
    if (known !== undefined) return this.isFresh(known, BELIEVED_MS) ? known.named : undefined;
    const wrong = this.wrong.get(id);
    return wrong !== undefined && this.isFresh(wrong, REFUSED_MS) ? wrong.named : undefined;
  }

  /** Checks what `get` did not have; requests with the same token share one check. Never rejects. */
  check(id: string, token: string): Promise<Caller | TokenProblem> {
    let checking = this.checking.get(id);
    if (checking === undefined) {
      checking = this.checkAnew(id, token).finally(() => this.checking.delete(id));
      this.checking.set(id, checking);
    }
    return checking;
  }

  private isFresh({ untilMs, checkedMs }: Known, forMs: number): boolean {
    return this.nowMs() < untilMs && this.running() - checkedMs < forMs;
  }

  private async checkAnew(id: string, token: string): Promise<Caller | TokenProblem> {
    const checkedMs = this.running();
    const found = await this.gate.run(() => this.options.check(token)).catch(() => undefined);
    // The gate is full.
    if (found === undefined) return 'too_many_tokens';
    const { named } = found;
    if (typeof named !== 'string') {
      this.wrong.delete(id);
      this.good.set(id, { ...found, checkedMs, used: false, bytes: TOKEN_BYTES + 2 * (named.claims?.length ?? 0) });
    } else if (named !== 'token_keys_unavailable') {
      this.good.delete(id);
      this.wrong.set(id, { ...found, checkedMs, used: false, bytes: WRONG_BYTES });
    }
    return named;
  }
}

/** By which a token is known. */
export function idOf(token: string): string {
  return hash('sha256', token, 'base64');
}
