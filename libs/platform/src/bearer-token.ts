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
    if (authorization === undefined) return unauthorized('token.missing', 'send the header Authorization: Bearer TOKEN');
    const [, token] = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization) ?? [];
    // Digests have one length, and comparing them takes one time: nothing tells how much of a guess was right.
    if (token === undefined || !timingSafeEqual(sha256(token), this.digest))
      return unauthorized('token.invalid', 'this is not a valid token', 'invalid_token');
    return undefined;
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function unauthorized(code: string, detail: string, error?: string): ProblemError {
  const challenge = `Bearer realm="tollgate"${error === undefined ? '' : `, error="${error}"`}`;
  return new ProblemError({ status: 401, code, detail, headers: { 'www-authenticate': challenge } });
}
