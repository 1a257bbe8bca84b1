import { randomBytes } from 'node:crypto';

const VALID_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** A request id may come from outside, and ends up in logs and headers: only harmless characters, bounded in length. */
export function isRequestId(value: string): boolean {
  return VALID_REQUEST_ID.test(value);
}

/**
 * Request ids that are unique in the fleet without a random number each: a random prefix for the process
 * (72 bits) and a counter.
 */
export function createRequestIds(): () => string {
  const prefix = randomBytes(9).toString('base64url');
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}
