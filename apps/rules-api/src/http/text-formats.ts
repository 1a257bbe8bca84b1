import { isIP } from 'node:net';
import { isMerchantId, MERCHANT_ID_EXPECTED, MERCHANT_ID_MAX_LENGTH, type TextFormat } from '#limiter';

export { MOMENT } from '#limiter';

/** The forms of texts that several calls take. */

function textFormat(expected: string, fits: (text: string) => boolean, schema: TextFormat['schema']): TextFormat {
  return { expected, fault: (text) => (fits(text) ? undefined : expected), schema };
}

/** The id of a merchant that may exist. */
export const MERCHANT_ID = textFormat(`must be ${MERCHANT_ID_EXPECTED}`, isMerchantId, { minLength: 1, maxLength: MERCHANT_ID_MAX_LENGTH });

const DECIMAL_ID = /^[1-9]\d{0,18}$/;

export const API_KEY_ID = textFormat(
  'must be the id of an API key, a decimal number as text, and not the key',
  (text) => DECIMAL_ID.test(text),
  {
    pattern: DECIMAL_ID.source,
  },
);

export const RULE_ID = textFormat('must be the id of a rule, a decimal number as text', (text) => DECIMAL_ID.test(text), {
  pattern: DECIMAL_ID.source,
});

export const IP_ADDRESS = textFormat('must be an IP address', (text) => isIP(text) !== 0, { maxLength: 45 });

const HTTP_METHOD_FORM = /^[A-Z][A-Z-]{0,31}$/;

export const HTTP_METHOD = textFormat('must be an HTTP method in capitals', (text) => HTTP_METHOD_FORM.test(text), {
  pattern: HTTP_METHOD_FORM.source,
});
