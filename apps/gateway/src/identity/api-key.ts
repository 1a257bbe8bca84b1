import { type ApiKeys, type KnownApiKey, TooManyUnknownError } from '#enforcement';
import { API_KEY_TEXT } from '#platform';
import { hasApiKey, tokenIn } from './authorization.js';
import type { CredentialReader, Named } from './caller.js';
import { createKeyCheck } from './key-check.js';

/** What a request says of its API key. */
export interface KeyHeaders {
  /** How many Authorization headers there are. */
  readonly authorizations: number;
  /** The value of the last one. */
  readonly authorization: string;
}

export interface KeyedRequest {
  readonly head: KeyHeaders;
  readonly peer: string;
  /** The values of a header as the client sent them, one for each line. @param name in lower case */
  receivedValues(name: string): readonly string[];
}

export interface KeyReaderOptions<R> {
  readonly keys: Pick<ApiKeys, 'get' | 'load'>;
  /** The address that a look-up counts for. */
  readonly clientOf: (request: R) => string;
  /** A header in which keys come as well, in lower case; empty: none. */
  readonly header?: string;
  readonly nowMs?: () => number;
}

/**
 * Finds out who sends `Authorization: Bearer tgk_…`, or a key in the header that is configured. Anything else in Authorization is none of its business; in the
 * other header it is a key that is wrong.
 */
export function createKeyReader<R extends KeyedRequest>({
  keys,
  clientOf,
  header = '',
  nowMs = Date.now,
}: KeyReaderOptions<R>): CredentialReader<R> {
  const isKey = createKeyCheck();
  const judged = (key: KnownApiKey | null, token: string): Named =>
    key !== null && isKey(token, key) && nowMs() < key.untilMs ? key : 'invalid_api_key';

  return (request, done) => {
    const { token, problem } = keyIn(request, header);
    if (token === null) return done(problem);
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

/** What a request sends as its key, whether it is one or not. Where the token is missing, `problem` says why; null: nothing was sent. */
interface SentKey {
  readonly token: string | null;
  readonly problem: 'duplicate_authorization' | 'duplicate_api_key' | null;
}

const NONE: readonly string[] = [];
const NO_KEY: SentKey = { token: null, problem: null };
// Of two of them, two servers could read different ones.
const TWO_AUTHORIZATIONS: SentKey = { token: null, problem: 'duplicate_authorization' };
const TWO_KEYS: SentKey = { token: null, problem: 'duplicate_api_key' };

function keyIn(request: KeyedRequest, header: string): SentKey {
  const { authorizations, authorization } = request.head;
  if (authorizations > 1) return TWO_AUTHORIZATIONS;
  const inAuthorization = authorizations === 1 && hasApiKey(authorization);
  const inHeader = header === '' ? NONE : request.receivedValues(header);
  if (inHeader.length + Number(inAuthorization) > 1) return TWO_KEYS;
  // What only begins like a key is none, but it is there.
  const token = inAuthorization ? tokenIn(authorization) : inHeader[0];
  return token === undefined ? NO_KEY : { token, problem: null };
}
