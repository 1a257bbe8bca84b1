import { type CustomField, type Fields, LABELS, line, type TextFormat } from '#limiter';
import { REQUEST_ID } from '../decisions/decision-fields.js';
import { API_KEY_ID, HTTP_METHOD, IP_ADDRESS, MERCHANT_ID } from '../http/text-formats.js';

const PATH_EXPECTED = 'must be a path as a client sends it, like /transactions/17';
const MAX_PATH_LENGTH = 8_192;

const NAME_PATTERN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
/** RFC 9110. */
const HEADER_NAME: TextFormat = {
  expected: 'must be the name of a header',
  fault: (text) => (NAME_PATTERN.test(text) ? undefined : 'must be the name of a header'),
  schema: { pattern: NAME_PATTERN.source },
};

const CLAIM_NAME: TextFormat = {
  expected: 'must be the name of a claim: 1 to 64 visible ASCII characters',
  fault: (text) => (/^[!-~]{1,64}$/.test(text) ? undefined : CLAIM_NAME.expected),
  schema: { pattern: '^[!-~]{1,64}$' },
};
const CLAIM_VALUE: TextFormat = {
  expected: 'must be a text of at most 8192 characters',
  fault: (text) => (text.length <= MAX_PATH_LENGTH ? undefined : CLAIM_VALUE.expected),
  schema: { maxLength: MAX_PATH_LENGTH },
};

/** A request as it is described for an explanation: the facts that rules look at. */
export const EXPLAIN_FIELDS = {
  requestId: {
    kind: 'text',
    format: REQUEST_ID,
    example: 'k3J9xZ-1f',
    explanation:
      'Instead of a merchant and a request: the id of a request that a gateway has decided about, and of which there is a receipt.',
  },
  ip: {
    kind: 'text',
    format: IP_ADDRESS,
    example: '192.0.2.7',
    explanation: 'Beside requestId: the address of the client, which no receipt holds. Rules whose key has ip need it.',
  },
  merchantId: {
    kind: 'text',
    format: MERCHANT_ID,
    required: { unless: 'requestId' },
    example: 'acme',
    explanation: 'The merchant that makes the request.',
  },
  request: {
    kind: 'object',
    required: { unless: 'requestId' },
    explanation: 'The request, as far as rules look at it.',
    fields: {
      method: {
        kind: 'text',
        format: HTTP_METHOD,
        required: true,
        example: 'POST',
        explanation: 'The method.',
      },
      path: {
        kind: 'text',
        format: {
          expected: PATH_EXPECTED,
          fault: (text: string) => (/^\/[\x21-\x7e]*$/.test(text) && text.length <= MAX_PATH_LENGTH ? undefined : PATH_EXPECTED),
          schema: { maxLength: MAX_PATH_LENGTH, pattern: '^/[!-~]*$' },
        },
        required: true,
        example: '/transactions/17',
        explanation: 'The path, and the query if rules look at it, percent-encoded as a client sends them.',
      },
      ip: {
        kind: 'text',
        format: IP_ADDRESS,
        example: '192.0.2.7',
        explanation: 'The address of the client. Rules that look at it need it.',
      },
      headers: {
        kind: 'map',
        keys: HEADER_NAME,
        values: {
          expected: 'must be the value of a header',
          fault: (text: string) => (text.length <= MAX_PATH_LENGTH ? undefined : `must be at most ${MAX_PATH_LENGTH} characters`),
          schema: { maxLength: MAX_PATH_LENGTH },
        },
        max: 100,
        example: { 'X-Channel': 'web' },
        explanation: 'The headers of the request as they are forwarded. Cookies stand in Cookie, the host in Host.',
      },
      body: {
        kind: 'custom',
        check: () => [],
        schema: {},
        example: { amount: 12.5, customer: { email: 'ann@example.org' } },
        explanation: 'The body, if rules look at it: any JSON. Numbers are those that JSON parsers make of them.',
      } as CustomField,
      user: { kind: 'text', format: line(128), example: 'u-17', explanation: "The merchant's user that makes the request." },
      apiKey: {
        kind: 'object',
        explanation: 'The API key with which it comes, if it comes with one. It need not exist.',
        fields: {
          id: { kind: 'text', format: API_KEY_ID, required: true, example: '3', explanation: 'Its id, never the key.' },
          labels: { ...LABELS, example: { team: 'web' }, explanation: 'Its labels.' },
        },
      },
      jwt: {
        kind: 'map',
        keys: CLAIM_NAME,
        values: CLAIM_VALUE,
        max: 50,
        example: { scope: 'payments' },
        explanation: 'Claims of the token with which it comes, as rules name them: behind jwt. and with dots. One text each.',
      },
      country: {
        kind: 'text',
        format: line(2),
        example: 'DE',
        explanation: 'The country of the client, if the gateway is told it.',
      },
    },
  },
} as const satisfies Fields;
