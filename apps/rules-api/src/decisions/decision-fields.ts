import type { Fields, TextFormat } from '#limiter';
import { isReceiptCursor } from '../buckets/live-reports.js';
import { MERCHANT_ID } from '../http/text-formats.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';

const REQUEST_ID_FORM = /^[A-Za-z0-9._-]{1,64}$/;
const REQUEST_ID_EXPECTED = 'must be the id of a request: 1 to 64 letters, digits, dots, hyphens and underscores';

/** As gateways accept and make them. */
export const REQUEST_ID: TextFormat = {
  expected: REQUEST_ID_EXPECTED,
  fault: (text) => (REQUEST_ID_FORM.test(text) ? undefined : REQUEST_ID_EXPECTED),
  schema: { pattern: REQUEST_ID_FORM.source },
};

const CURSOR_EXPECTED = 'must be the cursor of an answer before';

/** An answer that waits longer would hold up a process that ends. */
const MOST_SECONDS = 10;
const WAIT_EXPECTED = `must be a whole number from 0 to ${MOST_SECONDS}`;

export const OUTCOMES = ['refused', 'passed', 'all'] as const;

export const DECISION_QUERY_FIELDS = {
  limit: PageQueryDto.fields.limit,
  after: {
    kind: 'text',
    format: {
      expected: CURSOR_EXPECTED,
      fault: (text) => (isReceiptCursor(text) ? undefined : CURSOR_EXPECTED),
      schema: { maxLength: 33 },
    },
    explanation: 'The cursor of the answer before: what has come since. Without it the newest are answered.',
  },
  merchant: { kind: 'text', format: MERCHANT_ID, explanation: 'Only decisions about requests of this merchant.' },
  outcome: { kind: 'choice', values: OUTCOMES, default: 'refused', explanation: 'What became of the requests.' },
  wait: {
    kind: 'text',
    format: {
      expected: WAIT_EXPECTED,
      fault: (text) => (/^\d{1,2}$/.test(text) && Number(text) <= MOST_SECONDS ? undefined : WAIT_EXPECTED),
      schema: {},
    },
    default: '0',
    explanation: 'For how many seconds the answer waits for a decision if there is none behind the cursor yet.',
  },
} as const satisfies Fields;
