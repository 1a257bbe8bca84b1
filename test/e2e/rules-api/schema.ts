/** The part of OpenAPI's schemas that this API uses. */
export interface Schema {
  $ref?: string;
  allOf?: Schema[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
  type?: string;
  format?: string;
  nullable?: boolean;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  /** Of the entries of a map; an object whose properties are all named has none. */
  additionalProperties?: Schema | false;
  required?: string[];
  default?: unknown;
  example?: unknown;
}

export type Schemas = Record<string, Schema>;

/** @param value tells which of several schemas is meant */
function resolved(schema: Schema, schemas: Schemas, value?: unknown): Schema {
  const { propertyName = '', mapping = {} } = schema.discriminator ?? {};
  const chosen = schema.oneOf && mapping[(value as Record<string, string> | undefined)?.[propertyName] ?? ''];
  const ref = chosen ?? schema.oneOf?.[0]?.$ref ?? schema.$ref ?? schema.allOf?.[0]?.$ref;
  if (ref === undefined) return schema;
  const found = schemas[ref.split('/').at(-1) ?? ''];
  if (!found) throw new Error(`${ref} is not in the document`);
  return found;
}

/** Every place where a value is not what the schema says; properties that the schema does not name count too. */
export function mismatches(value: unknown, schema: Schema, schemas: Schemas, at = ''): string[] {
  const {
    type,
    nullable,
    enum: allowed,
    minimum,
    maximum,
    items,
    properties = {},
    additionalProperties,
    required = [],
    format,
  } = resolved(schema, schemas, value);
  const { anyOf, oneOf = [] } = resolved(schema, schemas, value);
  const alternatives = anyOf ?? oneOf.filter(({ $ref }) => $ref === undefined);
  if (alternatives.length > 0 && !alternatives.some((each) => mismatches(value, each, schemas, at).length === 0))
    return [`${at} fits none of its schemas`];
  // What says no more than that.
  if (type === undefined) return [];
  if (value === null) return (schema.nullable ?? nullable) ? [] : [`${at} is null`];
  if (allowed && type !== 'array' && !allowed.includes(value)) return [`${at} is not one of ${allowed.join()}`];
  if (type === 'array') {
    return Array.isArray(value)
      ? value.flatMap((item, index) => mismatches(item, items ?? {}, schemas, `${at}/${index}`))
      : [`${at} is no array`];
  }
  if (type === 'object') {
    if (typeof value !== 'object') return [`${at} is no object`];
    const missing = required.filter((name) => !(name in value)).map((name) => `${at}/${name} is missing`);
    const wrong = Object.entries(value).flatMap(([name, each]) =>
      propertyMismatches(each, properties[name] ?? additionalProperties, schemas, `${at}/${name}`),
    );
    return [...missing, ...wrong];
  }
  if (type === 'integer') {
    const fits = Number.isInteger(value) && (value as number) >= (minimum ?? -Infinity) && (value as number) <= (maximum ?? Infinity);
    return fits ? [] : [`${at} is ${JSON.stringify(value)}, no such integer`];
  }
  if (typeof value !== type) return [`${at} is a ${typeof value}, not a ${type}`];
  return format === 'date-time' && Number.isNaN(Date.parse(value as string)) ? [`${at} is no date`] : [];
}

function propertyMismatches(value: unknown, schema: Schema | false | undefined, schemas: Schemas, at: string): string[] {
  return schema ? mismatches(value, schema, schemas, at) : [`${at} is not documented`];
}

/** One of two fields is required, which only their descriptions say: a length, or a calendar instead of it. */
function insteadOfCalendar(properties: Record<string, Schema>): string[] {
  return 'calendar' in properties ? ['refillIntervalMs', 'windowMs'].filter((name) => name in properties) : [];
}

/** A value made of the schema's examples: all that is required, or all there is. */
export function exampleOf(schema: Schema, schemas: Schemas, all: boolean): unknown {
  const { type, example, default: preset, items, properties = {}, required = [], minimum } = resolved(schema, schemas);
  if (example !== undefined) return example;
  if (type === 'object') {
    const names = all ? Object.keys(properties) : [...required, ...insteadOfCalendar(properties)];
    return Object.fromEntries(names.map((name) => [name, exampleOf(properties[name] ?? {}, schemas, all)]));
  }
  if (preset !== undefined) return preset;
  if (type === 'array') {
    const [first, ...others] = items?.oneOf ?? [items ?? {}];
    const another = (each: Schema, index: number) => ({ ...(exampleOf(each, schemas, all) as object), name: `another ${index}` });
    return [exampleOf(first!, schemas, all), ...(all ? others.map(another) : [])];
  }
  return minimum;
}
