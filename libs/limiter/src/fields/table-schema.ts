import type { Field, Fields, Variant, VariantsField } from './field.js';

/** JSON Schemas made from tables of fields. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The schema of an object with these fields, and no others. */
export function objectSchema(fields: Fields): JsonSchema {
  const required = namesOf(fields, (field) => field.required === true);
  return {
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(fields).flatMap(([name, field]) => (isRefused(field) ? [] : [[name, fieldSchema(field)]])),
    ),
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
    case 'custom':
      return field.schema as JsonSchema;
    case 'to_come':
      return { anyOf: field.permitted.map(constantSchema) };
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
        ...(field.of.kind !== 'variants' && field.of.kind !== 'object' && { uniqueItems: true }),
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

/** Of one value. An object is described by its members: not every validator compares objects with care. */
function constantSchema(value: unknown): JsonSchema {
  if (typeof value !== 'object' || value === null) return { enum: [value] };
  const properties = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, constantSchema(member)]));
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

/** Whatever is written there. */
function isRefused(field: Field): boolean {
  return field.kind === 'to_come' && field.permitted.length === 0;
}

function namesOf(fields: Fields, holds: (field: Field) => boolean): string[] {
  return Object.entries(fields).flatMap(([name, field]) => (holds(field) ? [name] : []));
}
