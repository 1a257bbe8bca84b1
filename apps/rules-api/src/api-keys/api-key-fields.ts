import { type Fields, LABELS, line } from '#limiter';
import { ROTATION_FIELDS } from '../tokens/token-fields.js';
import { MOMENT } from '../http/text-formats.js';

/** What is written to create an API key of a merchant. */
export const API_KEY_FIELDS = {
  name: {
    kind: 'text',
    format: line(100),
    required: true,
    example: 'web shop',
    explanation: 'The name of the key, for people. It is unique among the keys of the merchant.',
  },
  user: {
    kind: 'text',
    format: line(128),
    example: 'shop-7',
    explanation: 'The user of the merchant that sends with this key. Without this field it is none in particular.',
  },
  labels: LABELS,
  expiresAt: {
    kind: 'text',
    format: MOMENT,
    example: '2100-01-01T00:00:00Z',
    explanation: 'When the key stops being good by itself. Without this field it never does.',
  },
} as const satisfies Fields;

/** What is written to rotate one. */
export const API_KEY_ROTATION_FIELDS = {
  overlapSeconds: { ...ROTATION_FIELDS.overlapSeconds, explanation: 'For how many seconds the former key is good beside the new one.' },
} as const satisfies Fields;
