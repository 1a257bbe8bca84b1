import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { type IssuerFetch, IssuerUnavailableError } from './issuer-fetch.js';

/** Keys are fetched again after so long, whether somebody came or not: one that the issuer has withdrawn is not believed much longer. */
const REFRESH_MS = 300_000;
/** After a failure. */
const RETRY_MS = 10_000;
/** A token with a key that nobody knows makes the keys be fetched, at most so often. */
const COOLDOWN_MS = 10_000;

export interface KeySetOptions {
  /** Where the JSON Web Key Set is (RFC 7517). */
  readonly url: string;
  readonly http: Pick<IssuerFetch, 'fetch'>;
  /** Milliseconds that never step back. */
  readonly now?: () => number;
  /** Does something later. */
  readonly schedule?: (work: () => void, ms: number) => NodeJS.Timeout;
}

/**
 * The public keys of an issuer, fetched beside the requests. While they cannot be fetched, those that are known go on. A request waits for the issuer only if
 * its token has a key that is not known, and then at most one fetch in COOLDOWN_MS is made for all of them.
 */
export class KeySet {
  /** Fetches, by their outcome. Those that a failure a moment ago spares are none. */
  readonly counts = { fetched: 0, failed: 0 };
  private fetchedMs: number | undefined;
  private known: JWTVerifyGetKey | undefined;
  private fetching: Promise<void> | undefined;
  private unknownMs = -Infinity;
  private failure: Error | undefined;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;
  private readonly now: () => number;

  constructor(private readonly options: KeySetOptions) {
    this.now = options.now ?? (() => performance.now());
  }

  /** Resolves when the keys have been fetched or could not be. Never rejects. */
  async open(): Promise<void> {
    await this.refresh();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }

  /** For jose. @throws IssuerUnavailableError; jose's JWKSNoMatchingKey if the issuer has no such key */
  readonly keyFor: JWTVerifyGetKey = async (header, token) => {
    if (this.known !== undefined) {
      try {
        return await this.known(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        if (this.fetching === undefined && this.now() - this.unknownMs < COOLDOWN_MS) throw this.failure ?? error;
        this.unknownMs = this.now();
      }
    }
    await this.fetch();
    return this.known!(header, token);
  };

  /** Since the keys that are known were fetched; 0 if none are. */
  get ageSeconds(): number {
    return this.fetchedMs === undefined ? 0 : Math.max(0, this.now() - this.fetchedMs) / 1000;
  }

  /** Throws, with the reason, while the keys cannot be fetched. */
  readonly assertFetched = (): void => {
    if (this.failure === undefined) return;
    throw new Error(`${this.failure.message}; ${this.known === undefined ? 'no key is known' : 'the keys that are known go on'}`);
  };

  private async refresh(): Promise<void> {
    await this.fetch().catch(() => {});
    if (this.closed) return;
    const delayMs = this.failure === undefined ? REFRESH_MS : RETRY_MS;
    this.timer = (this.options.schedule ?? setTimeout)(() => void this.refresh(), delayMs);
    this.timer.unref();
  }

  private fetch(): Promise<void> {
    this.fetching ??= this.ask().finally(() => (this.fetching = undefined));
    return this.fetching;
  }

  private async ask(): Promise<void> {
    try {
      const { url, http } = this.options;
      this.known = keysIn(await (await http.fetch(url)).text());
      this.failure = undefined;
      this.fetchedMs = this.now();
      this.counts.fetched++;
    } catch (error) {
      if (this.failure !== error) this.counts.failed++;
      this.failure = error as Error;
      throw error;
    }
  }
}

/** An issuer that publishes no key at all does so by mistake: those that are known go on. */
function keysIn(text: string): JWTVerifyGetKey {
  try {
    const set = JSON.parse(text) as JSONWebKeySet;
    const keys = createLocalJWKSet(set);
    if (set.keys.length > 0) return keys;
  } catch (cause) {
    throw new IssuerUnavailableError('the issuer answered what is no set of keys', { cause });
  }
  throw new IssuerUnavailableError('the issuer answered a set without keys');
}
