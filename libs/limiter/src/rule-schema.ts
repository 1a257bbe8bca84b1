import type { FaultReason, Field, Fields, Variant, VariantsField } from './field.js';
import { LIMIT } from './limit-fields.js';
import { RULE_FIELDS } from './rule.js';

/** The JSON Schema of a rule, made from the tables of fields. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * What a JSON Schema cannot say: a rule that is refused for one of these reasons alone may fit the schema. Codes of faults end with the
 * reason; some reasons are out of reach for some fields only.
 */
export const BEYOND_THE_SCHEMA: readonly { readonly code: RegExp; readonly explanation: string }[] = [
  ...(
    [
      ['too_fast', 'A refill is at most 1,000,000 tokens a second.'],
      ['inexact', 'A refill has to be a fraction that can be counted exactly.'],
      ['too_slow', 'A bucket fills within ten years.'],
      ['too_many_steps', 'A bucket that follows the calendar fills within a number of its steps.'],
      ['surplus_of_nothing', 'A limit with the capacity 0 starts without tokens.'],
      ['not_divisible', 'The parts of a sliding window are whole microseconds.'],
    ] as const satisfies readonly (readonly [FaultReason, string])[]
  ).map(([reason, explanation]) => ({ code: new RegExp(`\\.${reason}$`), explanation })),
  { code: /^limit\.name\.repeated$/, explanation: 'The limits of a rule have different names.' },
  { code: /^limit\.timeZone\.malformed$/, explanation: 'A time zone is one that the server knows.' },
  { code: /^rule\.match\.paths\.malformed$/, explanation: 'Wildcards and dots stand only at certain places of a path pattern.' },
  {
    code: /^rule\.(?:name|note|labels)\.malformed$/,
    explanation: 'The length of a text counts UTF-16 code units, and no surrogate stands alone.',
  },
];

/** JSON Schema, draft 2020-12, of what an administrator writes. */
export function ruleSchema(): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Rule',
    description: 'A rule of Tollgate as an administrator writes it.',
    $comment: `Not everything can be said here. ${BEYOND_THE_SCHEMA.map(({ explanation }) => explanation).join(' ')}`,
    ...objectSchema(RULE_FIELDS),
    $defs: Object.fromEntries(Object.entries(LIMIT.variants).map(([name, variant]) => [name, variantSchema(name, variant, LIMIT)])),
  };
}

/** The schema of an object with these fields, and no others. */
export function objectSchema(fields: Fields): JsonSchema {
  const required = namesOf(fields, (field) => field.required === true);
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, fieldSchema(field)])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/** The schema of a limit of one algorithm. What depends on the value of other fields stands in `allOf`. */
export function variantSchema(name: string, { explanation, fields, relations }: Variant, { tag }: VariantsField): JsonSchema {
  const { name: first, ...others } = fields;
  const tagField: Field = { kind: 'choice', values: [name], required: true, example: name, explanation: 'How the limit counts.' };
  const conditions = [
    ...Object.entries(fields).flatMap(([each, field]) => conditionsOf(each, field)),
    ...relations.flatMap((each) => each.schema ?? []),
  ];
  return {
    description: explanation,
    ...objectSchema({ ...(first && { name: first }), [tag]: tagField, ...others }),
    ...(conditions.length > 0 && { allOf: conditions }),
  };
}

function conditionsOf(name: string, { required, onlyFor }: Field): JsonSchema[] {
  if (typeof required === 'object') return [{ anyOf: [{ required: [name] }, { required: [required.unless] }] }];
  if (onlyFor === undefined) return [];
  const { field, value } = onlyFor;
  return [
    {
      if: { properties: { [field]: { const: value } }, required: [field] },
      then: { required: [name] },
      else: { properties: { [name]: false } },
    },
  ];
}

function fieldSchema(field: Field): JsonSchema {
  const { explanation, example, default: preset } = field;
  const unit = field.kind === 'whole_number' && field.unit !== undefined ? ` In ${field.unit}.` : '';
  return {
    ...valueSchema(field),
    description: explanation + unit,
    ...(preset !== undefined && { default: preset }),
    ...(example !== undefined && { examples: [example] }),
  };
}

function valueSchema(field: Field): JsonSchema {
  switch (field.kind) {
    case 'whole_number':
      return { type: 'integer', minimum: field.min, maximum: field.max };
    case 'choice':
      return { type: 'string', enum: field.values };
    case 'truth':
      return { type: 'boolean' };
    case 'text':
      return { type: field.nullable ? ['string', 'null'] : 'string', ...field.format.schema };
    case 'object': {
      const schema = objectSchema(field.fields);
      return field.nullable ? { ...schema, type: ['object', 'null'] } : schema;
    }
    case 'list':
      return {
        type: 'array',
        items: valueSchema(field.of),
        minItems: field.min,
        maxItems: field.max,
        ...(field.of.kind !== 'variants' && { uniqueItems: true }),
      };
    case 'map':
      return {
        type: 'object',
        propertyNames: field.keys.schema,
        additionalProperties: { type: 'string', ...field.values.schema },
        maxProperties: field.max,
      };
    case 'variants':
      return { oneOf: Object.keys(field.variants).map((name) => ({ $ref: `#/$defs/${name}` })) };
  }
}

function namesOf(fields: Fields, holds: (field: Field) => boolean): string[] {
  return Object.entries(fields).flatMap(([name, field]) => (holds(field) ? [name] : []));
}
