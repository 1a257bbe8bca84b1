import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import { type IssuerFetch, IssuerUnavailableError } from '#jwt';
import { isSecureUrl } from '#platform';

/** Where the keys are is asked anew so often, and with it everything that was remembered of them. Milliseconds. */
const DISCOVERED_FOR_MS = 900_000;
/** If it cannot be asked then, it is tried again after so long. Milliseconds. */
const REDISCOVERED_AFTER_MS = 60_000;
/** Keys are fetched again after so long, so that one that the issuer has withdrawn is not believed for ever. Milliseconds. */
const KEYS_BELIEVED_MS = 600_000;

export interface IssuerKeysOptions {
  /** As it stands in tokens. */
  readonly issuer: string;
  readonly http: IssuerFetch;
  /** Milliseconds that never step back. */
  readonly now: () => number;
  /** A token with a key that nobody knows makes the keys be fetched again, at most so often. Milliseconds. */
  readonly cooldownMs: number;
}

/** The public keys of an issuer, found by its discovery document and kept for a while. */
export class IssuerKeys {
  private found: { readonly keys: JWTVerifyGetKey; readonly atMs: number } | undefined;
  private finding: Promise<JWTVerifyGetKey> | undefined;

  constructor(private readonly options: IssuerKeysOptions) {}

  /** @throws IssuerUnavailableError */
  async get(): Promise<JWTVerifyGetKey> {
    if (this.found !== undefined && this.options.now() - this.found.atMs < DISCOVERED_FOR_MS) return this.found.keys;
    this.finding ??= this.discover().finally(() => (this.finding = undefined));
    try {
      return await this.finding;
    } catch (error) {
      if (this.found === undefined) throw error;
      // Where the keys were, they mostly still are: nobody waits for the answer again soon.
      this.found = { ...this.found, atMs: this.options.now() - DISCOVERED_FOR_MS + REDISCOVERED_AFTER_MS };
      return this.found.keys;
    }
  }

  private async discover(): Promise<JWTVerifyGetKey> {
    const { cooldownMs: cooldownDuration, http, issuer, now } = this.options;
    const answer = await http.fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    const keys = createRemoteJWKSet(keysUrl(await json(answer), issuer), {
      cooldownDuration,
      cacheMaxAge: KEYS_BELIEVED_MS,
      [customFetch]: http.fetch,
    });
    this.found = { keys, atMs: now() };
    return keys;
  }
}

async function json(answer: Response): Promise<unknown> {
  try {
    return await answer.json();
  } catch (cause) {
    throw new IssuerUnavailableError('the discovery document of the issuer is no JSON', { cause });
  }
}

function keysUrl(document: unknown, issuer: string): URL {
  const { issuer: named, jwks_uri: url } = (document ?? {}) as { issuer?: unknown; jwks_uri?: unknown };
  if (named !== issuer) throw new IssuerUnavailableError(`the discovery document is of another issuer than ${issuer}`);
  if (typeof url !== 'string' || !isSecureUrl(url)) throw new IssuerUnavailableError('the discovery document has no https jwks_uri');
  return new URL(url);
}
