import { type ApiKeys, type KnownApiKey, TooManyUnknownError } from '#enforcement';
import { API_KEY_TEXT, bearerTokenIn } from '#platform';

/** Why nobody is known by the API key of a request. */
export type ApiKeyProblem = 'duplicate_api_key' | 'invalid_api_key' | 'too_many_unknown_keys' | 'keys_unavailable';

/** What a request says of its API key. */
export interface KeyHeaders {
  /** How many Authorization headers there are. */
  readonly authorizations: number;
  /** The value of the last one. */
  readonly authorization: string;
}

/** The key's owner; null: there is no key; or why it is none. */
export type ByApiKey = Pick<KnownApiKey, 'merchantId' | 'user'> | null | ApiKeyProblem;

export interface KeyedRequest {
  readonly head: KeyHeaders;
  readonly peer: string;
}

/**
 * Finds out who sends `Authorization: Bearer tgk_…`, and calls `done` once, at once if the key is at hand. Anything else in that header is the
 * upstream's; a key that is there and wrong is never taken for none.
 *
 * @param clientOf the address that a look-up counts for
 */
export function createKeyReader<R extends KeyedRequest>(
  keys: Pick<ApiKeys, 'get' | 'load'>,
  clientOf: (request: R) => string,
  nowMs: () => number = Date.now,
): (request: R, done: (found: ByApiKey) => void) => void {
  const judged = (key: KnownApiKey | null, token: string): ByApiKey =>
    key !== null && API_KEY_TEXT.matches(token, key.hash) && nowMs() < key.untilMs ? key : 'invalid_api_key';

  return (request, done) => {
    const { authorizations, authorization } = request.head;
    if (authorizations === 0) return done(null);
    // Two servers could go by two of them.
    if (authorizations > 1) return done('duplicate_api_key');
    const token = bearerTokenIn(authorization);
    if (token === undefined || !API_KEY_TEXT.claims(token)) return done(null);
    const prefix = API_KEY_TEXT.prefixOf(token);
    if (prefix === undefined) return done('invalid_api_key');
    const known = keys.get(prefix);
    if (known !== undefined) return done(judged(known, token));
    keys.load(prefix, clientOf(request)).then(
      (key) => done(judged(key, token)),
      (error: unknown) => done(error instanceof TooManyUnknownError ? 'too_many_unknown_keys' : 'keys_unavailable'),
    );
  };
}
