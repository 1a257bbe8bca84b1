import { ANSWER_CONDITION } from '../conditions/condition-fields.js';
import { compiled } from '../conditions/compiled-condition.js';
import { type Condition, fieldsIn } from '../conditions/condition.js';
import { AskedFields, isAnswerBodyField } from '../conditions/request-field.js';
import type { AnswerFacts } from '../matching/descriptor.js';
import type { CustomField, Fields } from '../fields/field.js';
import { fault, faultOf, isPlainObject, objectFaults } from '../fields/field-faults.js';
import { objectSchema } from '../fields/table-schema.js';

/** When a request is charged: when it comes, or only if something is true of the answer. */
export type Charge = { readonly on: 'request' } | ChargeOnAnswer;

export interface ChargeOnAnswer {
  readonly on: 'response';
  readonly when: Condition;
}

const ON_REQUEST = { on: { kind: 'choice', values: ['request'], required: true, explanation: 'When it comes.' } } as const satisfies Fields;

const ON_ANSWER = {
  on: { kind: 'choice', values: ['response'], required: true, explanation: 'When the upstream has answered.' },
  when: {
    ...ANSWER_CONDITION,
    required: true,
    example: { field: 'response.status', from: 400, to: 499 },
    explanation: 'What is true of an answer that is charged.',
  },
} as const satisfies Fields;

const EXPECTED = 'must be { "on": "request" }, or { "on": "response", "when": condition }';

export const CHARGE: CustomField<Charge | null> = {
  kind: 'custom',
  check: (value, place) => {
    if (value === null) return [];
    if (!isPlainObject(value)) return [fault(place, 'wrong_type', EXPECTED, value)];
    if (value['on'] === 'request') return objectFaults(value, ON_REQUEST, place);
    return value['on'] === 'response' ? objectFaults(value, ON_ANSWER, place) : [faultOf(place, 'malformed', EXPECTED)];
  },
  schema: {
    ...objectSchema({
      on: { ...ON_ANSWER.on, values: ['request', 'response'] },
      when: { ...ON_ANSWER.when, required: undefined },
    } as unknown as Fields),
    type: ['object', 'null'],
    anyOf: [
      { properties: { on: { enum: ['request'] } }, not: { required: ['when'] } },
      { properties: { on: { enum: ['response'] } }, required: ['when'] },
    ],
  },
  example: { on: 'response', when: { field: 'response.status', from: 400, to: 499 } },
  explanation:
    'When a request is charged. On response the cost is reserved when the request comes, and given back if when is not true of the answer. Null, like nothing, is on request.',
};

/** A charge that waits for the answer. */
export interface CompiledCharge {
  readonly when: Condition;
  readonly readsBody: boolean;
  /** Whether what was reserved stays taken: when that is true of the answer, and when it cannot be known. */
  readonly stays: (answer: AnswerFacts) => boolean;
}

export function compiledCharge(charge: Charge | null | undefined): CompiledCharge | undefined {
  if (charge?.on !== 'response') return undefined;
  const { when } = charge;
  const condition = compiled(when);
  return {
    when,
    readsBody: fieldsIn([when]).some(isAnswerBodyField),
    stays: (answer) => condition.couldHold(new AskedFields(NO_REQUEST, answer)),
  };
}

/** Conditions on an answer look at nothing of the request. */
const NO_REQUEST = { merchantId: '', ip: '', method: '', target: '' };
