import type { CustomField } from '../fields/field.js';
import { fault } from '../fields/field-faults.js';

/** What a rule wants of a request whose body cannot be read. */
const UNREADABLE_BODY_POLICIES = ['absent', 'refuse'] as const;
export type UnreadableBodyPolicy = (typeof UNREADABLE_BODY_POLICIES)[number];

const EXPECTED = `must be one of ${UNREADABLE_BODY_POLICIES.join(', ')}`;

export const ON_UNREADABLE_BODY: CustomField<UnreadableBodyPolicy | null> = {
  kind: 'custom',
  check: (value, place) => {
    if (value === null || UNREADABLE_BODY_POLICIES.includes(value as UnreadableBodyPolicy)) return [];
    return [fault(place, typeof value === 'string' ? 'not_one_of' : 'wrong_type', EXPECTED, value)];
  },
  schema: { type: ['string', 'null'], enum: [...UNREADABLE_BODY_POLICIES, null] },
  example: 'refuse',
  explanation:
    'What holds for a body that cannot be read, because it is larger than 64 KiB, compressed, broken, or no JSON: absent takes its fields for absent, ' +
    'refuse answers 400 to requests that the rule may concern. Null, like nothing, is absent.',
};
