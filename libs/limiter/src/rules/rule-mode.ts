import type { CustomField } from '../fields/field.js';
import { fault, isPlainObject, objectFaults } from '../fields/field-faults.js';
import { objectSchema } from '../fields/table-schema.js';

/** `shadow` rules are evaluated and counted, but refuse nothing. */
export const MODES = ['enforce', 'shadow'] as const;
/** Of `enforcePercent`, that share of the bucket keys is enforced, always the same ones, and the rest is shadow. */
export type Mode = (typeof MODES)[number] | { readonly enforcePercent: number };

const SHARE_FIELDS = {
  enforcePercent: {
    kind: 'whole_number',
    min: 0,
    max: 100,
    unit: 'percent',
    required: true,
    example: 10,
    explanation: 'The share of bucket keys for which the rule is enforced. One that is enforced stays so when the share grows.',
  },
} as const;

const EXPECTED = `must be one of ${MODES.join(', ')}, or { "enforcePercent": n }`;

export const MODE = {
  kind: 'custom',
  check: (value, place) => {
    if (isPlainObject(value)) return objectFaults(value, SHARE_FIELDS, { pointer: place.pointer, code: place.code });
    if (typeof value !== 'string') return [fault(place, 'wrong_type', EXPECTED, value)];
    return (MODES as readonly string[]).includes(value) ? [] : [fault(place, 'not_one_of', EXPECTED, value)];
  },
  schema: { anyOf: [{ type: 'string', enum: MODES }, objectSchema(SHARE_FIELDS)] },
  default: 'enforce',
  explanation:
    'A rule in the mode shadow is evaluated and counted, and refuses nothing. With enforcePercent that share of its bucket keys is enforced, and the rest is shadow.',
} as const satisfies CustomField<Mode> as unknown as CustomField<Mode> & { readonly default: 'enforce' };
