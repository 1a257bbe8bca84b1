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
    if (authorization === undefined) return unauthorized('send the header Authorization: Bearer TOKEN');
    const [, token] = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization) ?? [];
    // Digests have the same length and take the same time to compare, so the time does not show how much of a guess was right.
    if (token === undefined || !timingSafeEqual(sha256(token), this.digest))
      return unauthorized('this is not a valid token', 'invalid_token');
    return undefined;
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function unauthorized(detail: string, error?: string): ProblemError {
  const challenge = `Bearer realm="tollgate"${error === undefined ? '' : `, error="${error}"`}`;
  return new ProblemError({ status: 401, detail, headers: { 'www-authenticate': challenge } });
}
