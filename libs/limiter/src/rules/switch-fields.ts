import type { Fields, TextFormat } from '../fields/field.js';
import { isMerchantId, MERCHANT_ID_EXPECTED, MERCHANT_ID_MAX_LENGTH } from '../fields/merchant-id.js';
import { LAYERS } from './rule.js';
import { MOMENT } from '../schedule/moment.js';
import { line } from '../fields/text-formats.js';

const MERCHANT_EXPECTED = `must be ${MERCHANT_ID_EXPECTED}, or null`;

const MERCHANT_ID: TextFormat = {
  expected: MERCHANT_EXPECTED,
  fault: (text) => (isMerchantId(text) ? undefined : MERCHANT_EXPECTED),
  schema: { minLength: 1, maxLength: MERCHANT_ID_MAX_LENGTH },
};

const LAYER_EXPECTED = `must be one of ${LAYERS.join(', ')}, or null`;

const LAYER: TextFormat = {
  expected: LAYER_EXPECTED,
  fault: (text) => ((LAYERS as readonly string[]).includes(text) ? undefined : LAYER_EXPECTED),
  schema: { pattern: `^(${LAYERS.join('|')})$` },
};

/** What is written to switch something on or off. */
export const SWITCH_FIELDS = {
  on: {
    kind: 'truth',
    required: true,
    explanation: 'Whether it is on from now on. To switch off, name the same layer and merchant.',
    example: true,
  },
  layer: {
    kind: 'text',
    format: LAYER,
    nullable: true,
    example: 'network',
    explanation: 'Only the rules of this layer; left out or null: those of all.',
  },
  merchantId: {
    kind: 'text',
    format: MERCHANT_ID,
    nullable: true,
    example: 'acme',
    explanation: 'Only this merchant; left out or null: all of them.',
  },
  until: {
    kind: 'text',
    format: MOMENT,
    nullable: true,
    example: '2100-01-01T00:00:00+01:00',
    explanation: 'When it ends, by itself: in the future, and at most a year away. Left out or null: when somebody switches it off.',
  },
  reason: {
    kind: 'text',
    format: line(500),
    example: 'a release limits everybody, ticket OPS-17',
    explanation: 'Why. The audit keeps it; X-Change-Reason says the same.',
  },
} as const satisfies Fields;
