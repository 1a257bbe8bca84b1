import { isIP } from 'node:net';
import {
  type CustomField,
  type Fault,
  type Fields,
  isMerchantId,
  isPlainObject,
  LABELS,
  line,
  MERCHANT_ID_EXPECTED,
  MERCHANT_ID_MAX_LENGTH,
  type Place,
  type TextFormat,
  textFormat,
} from '#limiter';

const MOST_CHARACTERS = 8_192;
const MOST_HEADERS = 100;
const MOST_VALUES = 20;

const METHOD = /^[A-Z][A-Z-]{0,31}$/;
const PATH = /^\/[\x21-\x7e]*$/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
const HOST = /^[\x21-\x7e]{1,255}$/;
const DECIMAL_ID = /^[1-9]\d{0,18}$/;

const HEADERS_EXPECTED = `must be an object of at most ${MOST_HEADERS} names of headers, each with a text of at most ${MOST_CHARACTERS} characters, or a list of at most ${MOST_VALUES} of them`;

const ofPattern = (expected: string, pattern: RegExp, maxLength = Infinity): TextFormat =>
  textFormat(expected, (text) => text.length <= maxLength && pattern.test(text), { pattern: pattern.source });

const HEADERS: CustomField<Readonly<Record<string, string | readonly string[]>>> = {
  kind: 'custom',
  check: (value, place) => {
    if (!isPlainObject(value)) return [headersFault(place, 'wrong_type')];
    const entries = Object.entries(value);
    const fits = entries.length <= MOST_HEADERS && entries.every(([name, each]) => HEADER_NAME.test(name) && isHeaderValue(each));
    return fits ? [] : [headersFault(place, 'malformed')];
  },
  schema: {
    type: 'object',
    maxProperties: MOST_HEADERS,
    propertyNames: { pattern: HEADER_NAME.source },
    additionalProperties: {
      anyOf: [
        { type: 'string', maxLength: MOST_CHARACTERS },
        { type: 'array', maxItems: MOST_VALUES, items: { type: 'string', maxLength: MOST_CHARACTERS } },
      ],
    },
  },
  example: { 'X-Channel': 'web' },
  explanation: 'The headers of the request. One that comes several times has a list of values; cookies stand in Cookie.',
};

function headersFault({ pointer, code }: Place, reason: string): Fault {
  return { pointer, code: `${code}.${reason}`, detail: HEADERS_EXPECTED };
}

function isHeaderValue(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= MOST_CHARACTERS;
  return (
    Array.isArray(value) && value.length <= MOST_VALUES && value.every((each) => typeof each === 'string' && each.length <= MOST_CHARACTERS)
  );
}

const JSON_OBJECT: CustomField<Readonly<Record<string, unknown>>> = {
  kind: 'custom',
  check: (value, { pointer, code }) => (isPlainObject(value) ? [] : [{ pointer, code: `${code}.wrong_type`, detail: 'must be an object' }]),
  schema: { type: 'object' },
  example: { scope: 'payments' },
  explanation: 'The claims of the token with which the request came.',
};

const ANY_JSON: CustomField = {
  kind: 'custom',
  check: () => [],
  schema: {},
  example: { amount: 12.5 },
  explanation: 'The body of the request, if rules look at it: any JSON, of which 64 KiB are looked at.',
};

/** A request about which a decision is asked. */
export const CHECK_FIELDS = {
  merchant: {
    kind: 'text',
    format: textFormat(`must be ${MERCHANT_ID_EXPECTED}`, isMerchantId, { minLength: 1, maxLength: MERCHANT_ID_MAX_LENGTH }),
    required: true,
    example: 'acme',
    explanation: 'The merchant that makes the request.',
  },
  user: { kind: 'text', format: line(128), example: 'u-17', explanation: "The merchant's user that makes the request." },
  apiKey: {
    kind: 'object',
    explanation: 'The API key with which the request came, if it came with one.',
    fields: {
      id: {
        kind: 'text',
        format: ofPattern('must be the id of an API key, a decimal number as text, and not the key', DECIMAL_ID),
        required: true,
        example: '3',
        explanation: 'Its id, never the key.',
      },
      labels: { ...LABELS, example: { team: 'web' }, explanation: 'Its labels.' },
    },
  },
  ip: {
    kind: 'text',
    format: textFormat('must be an IP address', (text) => isIP(text) !== 0, { maxLength: 45 }),
    example: '192.0.2.7',
    explanation: 'The address of the client.',
  },
  country: {
    kind: 'text',
    format: ofPattern('must be two capital letters (ISO 3166-1 alpha-2)', /^[A-Z]{2}$/),
    example: 'DE',
    explanation: 'The country of the client.',
  },
  method: {
    kind: 'text',
    format: ofPattern('must be an HTTP method in capitals', METHOD),
    example: 'POST',
    explanation: 'The method. Without one, no rule for certain methods matches.',
  },
  path: {
    kind: 'text',
    format: ofPattern('must be a path as a client sends it, like /transactions/17', PATH, MOST_CHARACTERS),
    example: '/transactions/17',
    explanation: 'The path, and the query if rules look at it, percent-encoded as a client sends them; / unless given.',
  },
  host: {
    kind: 'text',
    format: ofPattern('must be a host, with or without a port', HOST),
    example: 'api.example.com',
    explanation: 'The host of the request; that of the header Host unless given.',
  },
  headers: HEADERS,
  jwt: JSON_OBJECT,
  body: ANY_JSON,
  cost: {
    kind: 'whole_number',
    min: 0,
    max: 1_000_000_000,
    example: 3,
    explanation:
      'For how many such requests this asks: each limit is asked for so many times what its rule says; 1 unless given. 0 takes nothing.',
  },
  wantClaim: {
    kind: 'truth',
    example: true,
    explanation: 'Whether the decision is to have a claim, by which what was taken can be refunded or settled.',
  },
} as const satisfies Fields;

/** A check that waits for tokens. */
export const WAIT_FIELDS = {
  ...CHECK_FIELDS,
  maxWaitMs: {
    kind: 'whole_number',
    min: 0,
    max: 300_000,
    unit: 'milliseconds',
    required: true,
    example: 2_000,
    explanation: 'How long the call may wait for tokens.',
  },
} as const satisfies Fields;
