/** One to 128 characters of any script, without control characters or lone surrogates; not blank at either end. */
export const MERCHANT_ID_MAX_LENGTH = 128;

export const MERCHANT_ID_EXPECTED = `1 to ${MERCHANT_ID_MAX_LENGTH} characters, no control characters, no space at either end`;

/** What nearly all ids are made of, and nothing else: found out at a fraction of the cost. */
const PLAIN = /^[\w.:@-]+$/;

export function isMerchantId(value: unknown): value is string {
  if (typeof value !== 'string' || value.length < 1 || value.length > MERCHANT_ID_MAX_LENGTH) return false;
  return PLAIN.test(value) || (value.isWellFormed() && !/\p{Cc}|^\s|\s$/u.test(value));
}
