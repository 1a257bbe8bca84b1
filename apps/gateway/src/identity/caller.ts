/** Whose request it is, where the gateway found that out by itself and did not have to be told. */
export interface Caller {
  readonly merchantId: string;
  /** Null: no user in particular. */
  readonly user: string | null;
  /** The API key with which it came, as rules see it. */
  readonly apiKey?: { readonly id: string; readonly labels: Readonly<Record<string, string>> };
  /** The claims of the token with which it came, as the JSON text of an object. */
  readonly claims?: string;
}

/** What a gateway can know callers by, beside X-Merchant-Id. */
export type CredentialProblem =
  | 'duplicate_authorization'
  | 'duplicate_api_key'
  | 'invalid_api_key'
  | 'too_many_unknown_keys'
  | 'keys_unavailable'
  | TokenProblem
  | CertificateProblem;

/** Why a certificate says nothing. */
export type CertificateProblem =
  'duplicate_certificate' | 'invalid_certificate' | 'certificate_not_verified' | 'certificate_expired' | 'certificate_without_merchant';

/** Why a JWT says nothing. */
export type TokenProblem =
  | 'invalid_token'
  | 'expired_token'
  | 'token_without_expiry'
  | 'token_not_yet_valid'
  | 'token_of_another_issuer'
  | 'token_for_another_audience'
  | 'token_without_merchant'
  | 'token_user_unusable'
  | 'too_many_tokens'
  | 'token_keys_unavailable';

/** Whom a credential names; null: there is none of this kind; or why it is not known. */
export type Named = Caller | null | CredentialProblem;

/** Told by X-Merchant-Id, so that nothing else is looked at. */
export const BY_HEADER = 'by_header';

/** Looks at a request for one kind of credential and calls `done` once, at once if it can. A credential that is there and wrong is never taken for none. */
export type CredentialReader<R, N = Named> = (request: R, done: (named: N) => void) => void;

/** The first of the readers that finds something decides, be it wrong. */
export function inOrder<R, N>(readers: readonly CredentialReader<R, N | null>[]): CredentialReader<R, N | null> {
  const [first, ...others] = readers;
  if (first === undefined) return (_request, done) => done(null);
  if (others.length === 0) return first;
  const next = inOrder(others);
  return (request, done) => first(request, (named) => (named === null ? next(request, done) : done(named)));
}

/** X-Merchant-Id among the other ways: whether it is believed is said by the identifier. */
export function readHeader(
  { head }: { readonly head: { readonly merchantIds: number } },
  done: (named: typeof BY_HEADER | null) => void,
): void {
  done(head.merchantIds > 0 ? BY_HEADER : null);
}
