import {
  type Fields,
  isMerchantId,
  LABELS,
  line,
  LINE_PATTERN,
  MERCHANT_ID_EXPECTED,
  MERCHANT_ID_MAX_LENGTH,
  PLAN_NAME,
  TIME_ZONE,
} from '#limiter';
import { IGNORED, READ_FIELDS } from '../http/read-fields.js';

const ID_EXPECTED = `must be ${MERCHANT_ID_EXPECTED}, and neither . nor ..`;

const NAME = { kind: 'text', format: line(200), example: 'Acme', explanation: 'The name of the merchant, for people.' } as const;

const ZONE = {
  kind: 'text',
  format: TIME_ZONE,
  example: 'Europe/Berlin',
  explanation: 'The IANA name of the time zone of the merchant. Limits that follow the calendar use it unless they name another one.',
} as const;

const PLAN = {
  kind: 'text',
  format: PLAN_NAME,
  nullable: true,
  default: null,
  absentMeans: null,
  explanation: 'The plan whose rules the merchant shares, which exists. With null there is none.',
} as const;

/** What is written to create a merchant. */
export const MERCHANT_FIELDS = {
  /** `.` and `..` cannot be addressed: every HTTP client resolves them in a path, percent-encoded or not. */
  id: {
    kind: 'text',
    format: {
      expected: ID_EXPECTED,
      fault: (text) => (isMerchantId(text) && text !== '.' && text !== '..' ? undefined : ID_EXPECTED),
      schema: { minLength: 1, maxLength: MERCHANT_ID_MAX_LENGTH, pattern: `(?!^\\.{1,2}$)${LINE_PATTERN}` },
    },
    required: true,
    example: 'acme',
    explanation: `The id of the merchant, for ever: ${MERCHANT_ID_EXPECTED}.`,
  },
  name: { ...NAME, required: true },
  timeZone: { ...ZONE, default: 'UTC' },
  labels: LABELS,
  plan: PLAN,
} as const satisfies Fields;

/** What can be changed of one. */
const CHANGE_FIELDS = {
  name: MERCHANT_FIELDS.name,
  timeZone: MERCHANT_FIELDS.timeZone,
  labels: LABELS,
  plan: PLAN,
} as const satisfies Fields;

/** What an answer has beside that. The path says which merchant is changed. */
export const MERCHANT_READ_FIELDS = {
  id: { kind: 'text', format: MERCHANT_FIELDS.id.format, example: 'acme', explanation: IGNORED },
  ...READ_FIELDS,
} as const satisfies Fields;

export const MERCHANT_CHANGE_FIELDS = { ...CHANGE_FIELDS, ...MERCHANT_READ_FIELDS } as const satisfies Fields;
