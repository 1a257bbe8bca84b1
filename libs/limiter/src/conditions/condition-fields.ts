import type { CustomField, Fault, Fields, Place, TextFormat } from '../fields/field.js';
import { fault, faultOf, isPlainObject, objectFaults } from '../fields/field-faults.js';
import { objectSchema } from '../fields/table-schema.js';
import { textFormat } from '../fields/text-formats.js';
import { rangeFault } from './address-range.js';
import { type Condition, MOST_CONDITIONS, MOST_LEVELS, type Operator, OPERATORS, type Scalar } from './condition.js';
import {
  ANSWER_FIELD_EXPECTED,
  ANSWER_FIELD_PATTERN,
  FIELD_EXPECTED,
  FIELD_PATTERN,
  isAnswerFieldName,
  isFieldName,
} from './request-field.js';

/** The language of conditions, as tables of fields. */

const MAX_TEXT_LENGTH = 256;
const MOST_VALUES = 100;
/** Far beyond amounts, and every whole number up to it is exact in JSON. */
const MOST_NUMBER = 1e15;

/** The name of a field of a request. */
export const FIELD_NAME: CustomField<string> = {
  kind: 'custom',
  check: (value, place) => {
    if (typeof value !== 'string') return [fault(place, 'wrong_type', FIELD_EXPECTED, value)];
    if (isFieldName(value)) return [];
    if (isAnswerFieldName(value))
      return [fault(place, 'not_applicable', 'must be known when the request comes, not only with the answer', value)];
    return [fault(place, 'malformed', FIELD_EXPECTED, value)];
  },
  schema: { type: 'string', pattern: FIELD_PATTERN },
  explanation: 'A field of the request.',
};

/** The name of a field of an answer. */
const ANSWER_FIELD_NAME: CustomField<string> = {
  kind: 'custom',
  check: (value, place) => {
    if (typeof value !== 'string') return [fault(place, 'wrong_type', ANSWER_FIELD_EXPECTED, value)];
    if (isAnswerFieldName(value)) return [];
    return [fault(place, isFieldName(value) ? 'not_applicable' : 'malformed', ANSWER_FIELD_EXPECTED, value)];
  },
  schema: { type: 'string', pattern: ANSWER_FIELD_PATTERN },
  explanation: 'A field of the answer.',
};

const TEXT = textFormat(
  `must be a text of 1 to ${MAX_TEXT_LENGTH} characters`,
  (text) => text.length >= 1 && text.length <= MAX_TEXT_LENGTH && text.isWellFormed(),
  { minLength: 1, maxLength: MAX_TEXT_LENGTH },
);

const RANGE: TextFormat = {
  expected: 'must be an IP address, or a range of them like 10.0.0.0/8',
  fault: rangeFault,
  schema: { maxLength: 49 },
};

const NUMBER = custom<number>(
  (value, place) => {
    const expected = `must be a number from -${MOST_NUMBER} to ${MOST_NUMBER}`;
    if (typeof value !== 'number' || Number.isNaN(value)) return [fault(place, 'wrong_type', expected, value)];
    return Math.abs(value) <= MOST_NUMBER ? [] : [fault(place, 'out_of_range', expected, value)];
  },
  { type: 'number', minimum: -MOST_NUMBER, maximum: MOST_NUMBER },
);

/** An empty text is a value like any other: it is not absence. */
const SCALAR = custom<Scalar>(
  (value, place) => {
    if (typeof value === 'number') return NUMBER.check(value, place, {});
    const expected = `must be a number, or a text of at most ${MAX_TEXT_LENGTH} characters`;
    if (typeof value !== 'string') return [fault(place, 'wrong_type', expected, value)];
    return value === '' || TEXT.fault(value) === undefined ? [] : [fault(place, 'malformed', expected, value)];
  },
  { ...NUMBER.schema, type: ['string', 'number'], maxLength: MAX_TEXT_LENGTH },
);

const TEXT_VALUE = { kind: 'text', format: TEXT, explanation: 'A text.' } as const;
const TEXTS = { kind: 'list', of: TEXT_VALUE, min: 1, max: MOST_VALUES, explanation: 'Texts.' } as const;

const FIELD_CONDITION_FIELDS = {
  field: { ...FIELD_NAME, required: true, example: 'header.x-channel', explanation: 'The field of the request that is looked at.' },
  equals: { ...SCALAR, example: 'web', explanation: 'The field is this text, letter by letter, or has the value of this number.' },
  in: { kind: 'list', of: SCALAR, min: 1, max: MOST_VALUES, example: ['RU', 'BY'], explanation: 'The field is one of these.' },
  startsWith: { ...TEXT_VALUE, example: 'mobile-', explanation: 'The field begins with this text.' },
  endsWith: { ...TEXT_VALUE, example: '@mail.ru', explanation: 'The field ends with this text.' },
  contains: {
    ...custom<string | readonly string[]>(
      (value, place) => objectFaults({ contains: value }, { contains: Array.isArray(value) ? TEXTS : TEXT_VALUE }, parentOf(place)),
      {
        anyOf: [
          { type: 'string', ...TEXT.schema },
          { type: 'array', items: { type: 'string', ...TEXT.schema }, minItems: 1, maxItems: MOST_VALUES, uniqueItems: true },
        ],
      },
    ),
    example: ['lottery', 'prize'],
    explanation: 'The field contains this text, or one of these; case makes no difference.',
  },
  like: { ...TEXT_VALUE, example: '*@*.example', explanation: 'The whole field has this form; * stands for any text.' },
  atLeast: { ...NUMBER, example: 100, explanation: 'The field is a number of at least this value.' },
  atMost: { ...NUMBER, example: 100, explanation: 'The field is a number of at most this value.' },
  from: { ...NUMBER, example: 400, explanation: 'The field is a number from this value to that of to.' },
  to: {
    ...custom<number>((value, place, { from }) => {
      const faults = NUMBER.check(value, place, {});
      if (faults.length > 0 || typeof from !== 'number') return faults;
      return (value as number) >= from ? [] : [fault(place, 'out_of_range', `must be at least ${from}, the value of from`, value)];
    }, NUMBER.schema),
    example: 499,
    explanation: 'The end of the numbers that begin with from.',
  },
  inRanges: {
    kind: 'list',
    of: { kind: 'text', format: RANGE, explanation: 'A range of addresses.' },
    min: 1,
    max: MOST_VALUES,
    example: ['10.0.0.0/8', '2001:db8::/32'],
    explanation: 'The field is an IP address in one of these ranges.',
  },
  absent: {
    ...custom<true>(
      (value, place) =>
        value === true
          ? []
          : [fault(place, 'wrong_type', 'must be true; a field that is there is { "not": { "field": ..., "absent": true } }', value)],
      { const: true },
    ),
    example: true,
    explanation: 'The request does not have the field. An empty text is there.',
  },
} as const satisfies Fields;

const ANSWER_CONDITION_FIELDS = {
  ...FIELD_CONDITION_FIELDS,
  field: { ...ANSWER_FIELD_NAME, required: true, example: 'response.status', explanation: 'The field of the answer that is looked at.' },
} as const satisfies Fields;

const COMBINATIONS = ['all', 'any', 'not'] as const;

/** The conditions of a rule: the list `all` of its match. */
export const CONDITIONS: CustomField<readonly Condition[]> = {
  kind: 'custom',
  check: (value, place) => listFaults(value, place, 1, { conditions: 0, fields: FIELD_CONDITION_FIELDS }),
  schema: { type: 'array', items: { $ref: '#/$defs/condition' }, minItems: 0, maxItems: MOST_CONDITIONS },
  example: [{ field: 'country', in: ['RU', 'BY'] }],
  explanation:
    `Conditions on fields of the request, all of which have to hold; any and not combine them. At most ${MOST_CONDITIONS} conditions, ` +
    `combined ones included, and ${MOST_LEVELS} levels.`,
};

/** A condition on an answer. */
export const ANSWER_CONDITION: CustomField<Condition> = {
  kind: 'custom',
  check: (value, place) => conditionFaults(value, { ...place, code: 'condition' }, 1, { conditions: 0, fields: ANSWER_CONDITION_FIELDS }),
  schema: { anyOf: [{ $ref: '#/$defs/answerCondition' }] },
  explanation: 'A condition on fields of the answer; all, any and not combine conditions.',
};

/** JSON Schema of one condition. How many there are and how deep they stand, no schema can say. */
export function conditionSchema(): object {
  return schemaOfCondition(FIELD_CONDITION_FIELDS, 'request', '#/$defs/condition');
}

export function answerConditionSchema(): object {
  return schemaOfCondition(ANSWER_CONDITION_FIELDS, 'answer', '#/$defs/answerCondition');
}

function schemaOfCondition(fields: Fields, of: string, $ref: string): object {
  const reference = { $ref };
  const listOf = (name: string, explanation: string) => ({
    type: 'object',
    properties: { [name]: { type: 'array', items: reference, minItems: 1, maxItems: MOST_CONDITIONS, description: explanation } },
    required: [name],
    additionalProperties: false,
  });
  return {
    description: `A condition on a field of the ${of}, or a combination of conditions.`,
    anyOf: [
      {
        ...objectSchema(fields),
        oneOf: Object.values(OPERATORS).map((members) => ({ required: members, maxProperties: members.length + 1 })),
      },
      listOf('all', 'All of these hold.'),
      listOf('any', 'At least one of these holds.'),
      { type: 'object', properties: { not: reference }, required: ['not'], additionalProperties: false },
    ],
  };
}

/** What has been seen of the conditions of a rule, and which fields they may look at. */
interface Count {
  conditions: number;
  readonly fields: Fields;
}

function listFaults(value: unknown, place: Place, level: number, count: Count): readonly Fault[] {
  if (!Array.isArray(value)) return [fault(place, 'wrong_type', 'must be a list of conditions', value)];
  const least = level === 1 ? 0 : 1;
  if (value.length < least || value.length > MOST_CONDITIONS) {
    return [faultOf(place, 'wrong_length', `must have ${least} to ${MOST_CONDITIONS} items, got ${value.length}`)];
  }
  return value.flatMap((item: unknown, i) => conditionFaults(item, { pointer: `${place.pointer}/${i}`, code: 'condition' }, level, count));
}

function conditionFaults(value: unknown, place: Place, level: number, count: Count): readonly Fault[] {
  if (!isPlainObject(value)) return [fault(place, 'wrong_type', 'must be an object', value)];
  if (level > MOST_LEVELS) return [faultOf(place, 'too_complex', `is nested deeper than ${MOST_LEVELS} levels`)];
  count.conditions++;
  if (count.conditions > MOST_CONDITIONS) {
    return count.conditions === MOST_CONDITIONS + 1 ? [faultOf(place, 'too_complex', `is more than ${MOST_CONDITIONS} conditions`)] : [];
  }
  const combination = COMBINATIONS.find((name) => Object.hasOwn(value, name));
  return combination === undefined
    ? fieldConditionFaults(value, place, count.fields)
    : combinedFaults(value, combination, place, level, count);
}

function combinedFaults(
  value: Readonly<Record<string, unknown>>,
  name: (typeof COMBINATIONS)[number],
  place: Place,
  level: number,
  count: Count,
): readonly Fault[] {
  const others = Object.keys(value).filter((each) => each !== name);
  if (others.length > 0) {
    return [faultOf(place, 'malformed', `must have nothing beside ${name}; combine conditions by all, any and not, one in another`)];
  }
  const below = { pointer: `${place.pointer}/${name}`, code: `condition.${name}` };
  return name === 'not'
    ? conditionFaults(value['not'], { ...below, code: 'condition' }, level + 1, count)
    : listFaults(value[name], below, level + 1, count);
}

function fieldConditionFaults(value: Readonly<Record<string, unknown>>, place: Place, fields: Fields): readonly Fault[] {
  const faults = objectFaults(value, fields, place);
  return faults.length > 0 ? faults : operatorFaults(value, place);
}

function operatorFaults(value: Readonly<Record<string, unknown>>, place: Place): readonly Fault[] {
  const written = Object.keys(value).filter((name) => name !== 'field');
  const isWhole = ([, members]: [string, readonly string[]]) =>
    members.length === written.length && members.every((name) => written.includes(name));
  if ((Object.entries(OPERATORS) as [Operator, readonly string[]][]).some(isWhole)) return [];
  const expected = `must have one of equals, in, startsWith, endsWith, contains, like, atLeast, atMost, inRanges and absent, or from and to`;
  return [faultOf(place, 'malformed', `${expected}, got ${written.join(' and ') || 'none'}`)];
}

/** `objectFaults` names the members of an object; this is the object of a value at a place. */
function parentOf({ pointer, code }: Place): Place {
  return { pointer: pointer.slice(0, pointer.lastIndexOf('/')), code: code.slice(0, code.lastIndexOf('.')) };
}

function custom<V>(check: CustomField['check'], schema: object) {
  return { kind: 'custom', check, schema } as Pick<CustomField<V>, 'kind' | 'check' | 'schema'> & CustomField<V>;
}
