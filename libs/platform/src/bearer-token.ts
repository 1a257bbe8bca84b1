import { createHash, timingSafeEqual } from 'node:crypto';
import { ProblemError } from './problem.js';

/** A token that a caller has to send. */
export class BearerToken {
  private readonly digest: Buffer;

  constructor(token: string) {
    this.digest = sha256(token);
  }

  /** Why a request with this Authorization header is refused; nothing if it carries the token. */
  refusal(authorization: string | undefined): ProblemError | undefined {
    if (authorization === undefined) return unauthorized('send the header Authorization: Bearer TOKEN');
    const token = bearerTokenIn(authorization);
    return token !== undefined && this.is(token) ? undefined : unauthorized('this is not a valid token', 'invalid_token');
  }

  /** Digests have one length, and comparing them takes one time: nothing tells how much of a guess was right. */
  is(token: string): boolean {
    return timingSafeEqual(sha256(token), this.digest);
  }
}

/** The token in an Authorization header, if it is of the scheme Bearer. */
export function bearerTokenIn(authorization: string): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,1000}) *$/i.exec(authorization)?.[1];
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** 401 with the challenge of RFC 6750. */
export function unauthorized(detail: string, error?: string): ProblemError {
  const challenge = `Bearer realm="tollgate"${error === undefined ? '' : `, error="${error}"`}`;
  return new ProblemError({ status: 401, detail, headers: { 'www-authenticate': challenge } });
}
