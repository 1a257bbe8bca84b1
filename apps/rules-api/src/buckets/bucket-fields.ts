import { type Fields, line, OPERATION_BOUNDS } from '#limiter';
import { HTTP_METHOD, IP_ADDRESS, RULE_ID } from '../http/text-formats.js';
import { KEY_PARTS, KEY_PARTS_TEXT } from './key-values.js';

const IP = {
  kind: 'text',
  format: IP_ADDRESS,
  example: '192.0.2.7',
  explanation: 'The address of the client, for rules whose key has ip.',
} as const;

const METHOD = {
  kind: 'text',
  format: HTTP_METHOD,
  example: 'POST',
  explanation: 'The method of the request, for rules whose key has method.',
} as const;

/** What names a bucket beside the merchant in the path. */
const RULE = {
  kind: 'text',
  format: RULE_ID,
  example: '17',
  explanation: 'The id of the rule, of the merchant or a default one.',
} as const;

const LIMIT = { kind: 'text', format: line(64), example: 'burst', explanation: 'The name of the limit.' } as const;

const ONE = {
  ruleId: { ...RULE, required: true },
  limit: { ...LIMIT, required: true },
  ip: IP,
  method: METHOD,
  key: KEY_PARTS,
} as const;

export const BUCKET_QUERY_FIELDS = {
  ruleId: RULE,
  ip: IP,
  method: METHOD,
  key: {
    kind: 'text',
    format: KEY_PARTS_TEXT,
    example: '{"header.x-device-id":"abc"}',
    explanation: 'Other parts of keys, as a JSON object: what a request has for each, by its name; null for what it does not have.',
  },
} as const satisfies Fields;

/** Without a rule: all buckets that are the merchant's alone. */
export const RESET_FIELDS = {
  ruleId: RULE,
  limit: LIMIT,
  ip: IP,
  method: METHOD,
  key: KEY_PARTS,
} as const satisfies Fields;

export const ADJUST_FIELDS = {
  ...ONE,
  tokens: {
    kind: 'whole_number',
    ...OPERATION_BOUNDS.tokens,
    required: true,
    example: 5,
    explanation: 'Tokens to add, up to full, or to take (negative), down to empty. Not 0.',
  },
} as const satisfies Fields;

export const BLOCK_FIELDS = {
  ...ONE,
  forMs: {
    kind: 'whole_number',
    ...OPERATION_BOUNDS.forMs,
    unit: 'milliseconds',
    required: true,
    example: 60_000,
    explanation: 'For how long everything is refused from now, whatever block there was before.',
  },
} as const satisfies Fields;

export const UNBLOCK_FIELDS = ONE satisfies Fields;
