import { type Fields, RULE_FIELDS } from '#limiter';
import { MERCHANT_ID, RULE_ID } from '../http/text-formats.js';

/** Bytes of a body: so much traffic is a sample, and more is no question of a moment. */
export const MAX_PREVIEW_BYTES = 8 * 1024 * 1024;

const SAMPLE = { expected: 'must be a text: the lines of a CSV file, or recorded', fault: () => undefined, schema: {} };

/** A draft, and on what traffic it is tried. */
export const PREVIEW_FIELDS = {
  merchantId: {
    kind: 'text',
    format: MERCHANT_ID,
    required: true,
    example: 'acme',
    explanation: 'The merchant whose requests it would concern.',
  },
  ruleId: {
    kind: 'text',
    format: RULE_ID,
    example: '17',
    explanation:
      'The rule, of the merchant or a default one, that the draft would replace. Without it the draft would be a new rule of the merchant.',
  },
  rule: { kind: 'object', fields: RULE_FIELDS, required: true, explanation: 'The draft.' },
  sample: {
    kind: 'text',
    format: SAMPLE,
    example: 'at,method,path\n2026-11-22T10:00:00Z,POST,/transactions\n2026-11-22T10:00:00.250Z,POST,/transactions',
    explanation:
      'Requests as CSV with a heading: at (milliseconds since 1970, or RFC 3339), method and path; where wanted ip, and cost, the tokens that a request takes ' +
      'instead of what the rules say. Or recorded: what gateways have recorded of the merchant within the last day. Without a sample nothing is replayed.',
  },
} as const satisfies Fields;

/** The query of a preview. */
export const PREVIEW_QUERY_FIELDS = {
  format: {
    kind: 'choice',
    values: ['json', 'svg'],
    default: 'json',
    explanation:
      'The form of the answer. As svg it is a chart of what passes and what is refused over time, now and with the draft; it needs a sample.',
  },
} as const satisfies Fields;
