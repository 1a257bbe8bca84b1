import { createHash, timingSafeEqual } from 'node:crypto';
import { ProblemError } from './problem.js';

/** A token that callers have to send in the header Authorization. */
export class BearerToken {
  private readonly digest: Buffer;

  constructor(token: string) {
    this.digest = sha256(token);
  }

  /** The problem with which a request with this Authorization header is refused; undefined if it has the token. */
  refusal(authorization: string | undefined): ProblemError | undefined {
    if (authorization === undefined) return unauthorized('token.missing', 'send the header Authorization: Bearer TOKEN');
    const token = bearerTokenIn(authorization);
    return token !== undefined && this.is(token) ? undefined : unauthorized('token.invalid', 'this is not a valid token', 'invalid_token');
  }

  /** Digests have one length, and comparing them takes one time: nothing tells how much of a guess was right. */
  is(token: string): boolean {
    return timingSafeEqual(sha256(token), this.digest);
  }
}

/** The token in an Authorization header, if it is of the scheme Bearer. */
export function bearerTokenIn(authorization: string): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,8000}) *$/i.exec(authorization)?.[1];
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** 401 with the challenge of RFC 6750. */
export function unauthorized(code: string, detail: string, error?: string): ProblemError {
  const challenge = `Bearer realm="tollgate"${error === undefined ? '' : `, error="${error}"`}`;
  return new ProblemError({ status: 401, code, detail, headers: { 'www-authenticate': challenge } });
}
