import { answerConditionSchema, conditionSchema, type JsonSchema, LIMIT, objectSchema, variantSchema } from '#limiter';
import type { TableDto } from '../http/table-dto.js';

/** The tables of fields as schemas of OpenAPI 3.0, which has its own words for some of JSON Schema. */

interface Schema {
  readonly [keyword: string]: unknown;
  readonly properties?: Record<string, unknown>;
  readonly required?: readonly string[];
}

const REFERENCE = '#/components/schemas/';
/** The document's name for a condition, which refers to itself. */
const CONDITION = 'ConditionDto';
/** Likewise for a condition on an answer. */
const ANSWER_CONDITION = 'AnswerConditionDto';
const ANSWER_CONDITION_REFERENCE = '#/$defs/answerCondition';

/** Adds to the schemas of these classes what their tables say, and the limits that these refer to. */
export function addTableSchemas(schemas: Record<string, Schema>, dtos: readonly TableDto[]): void {
  for (const [name, variant] of Object.entries(LIMIT.variants))
    schemas[limitSchemaName(name)] = openApi(variantSchema(name, variant, LIMIT));
  schemas[CONDITION] = openApi(conditionSchema() as JsonSchema);
  schemas[ANSWER_CONDITION] = openApi(answerConditionSchema() as JsonSchema);
  for (const dto of dtos) {
    const { properties, required = [] } = schemas[dto.name] ?? {};
    const table = openApi(objectSchema(dto.fields));
    const all = [...required, ...(table.required ?? [])];
    schemas[dto.name] = { ...table, properties: { ...properties, ...table.properties }, ...(all.length > 0 && { required: all }) };
  }
}

/** The schema of a merge patch of an object: nothing is required, and null removes what need not be there. */
export function patchSchema({ properties, required = [], ...schema }: Schema): Schema {
  const { additionalProperties: entries } = schema;
  if (properties === undefined)
    return typeof entries === 'object' ? { ...schema, additionalProperties: { ...entries, nullable: true } } : schema;
  const changed = Object.entries(properties as Record<string, Schema>).map(([name, property]): [string, Schema] => [
    name,
    { ...patchSchema(property), ...(!required.includes(name) && { nullable: true }) },
  ]);
  return { ...schema, properties: Object.fromEntries(changed) };
}

/** `TokenBucketDto` for `token_bucket`. */
function limitSchemaName(algorithm: string): string {
  const words = algorithm.split('_').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${words.join('')}Dto`;
}

function openApi(schema: JsonSchema): Schema {
  return Object.fromEntries(
    Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
      switch (keyword) {
        // Conditions and names of entries are not known to it.
        case 'allOf':
        case 'propertyNames':
          return [];
        case 'examples':
          return [['example', (value as unknown[])[0]]];
        case 'type':
          if (Array.isArray(value) && !value.includes('null')) return [['oneOf', value.map((type: string) => ({ type }))]];
          return Array.isArray(value)
            ? [
                ['type', value[0]],
                ['nullable', true],
              ]
            : [['type', value]];
        case 'oneOf':
          return isLimits(value as readonly JsonSchema[])
            ? limitReferences(value as readonly { $ref: string }[])
            : [[keyword, (value as readonly JsonSchema[]).map(openApi)]];
        case 'anyOf':
          return [[keyword, (value as readonly JsonSchema[]).map(openApi)]];
        case 'const':
          return [['enum', [value]]];
        case '$ref':
          return [[keyword, REFERENCE + (value === ANSWER_CONDITION_REFERENCE ? ANSWER_CONDITION : CONDITION)]];
        case 'properties':
          return [
            [keyword, Object.fromEntries(Object.entries(value as object).map(([name, each]) => [name, openApi(each as JsonSchema)]))],
          ];
        case 'items':
          return [[keyword, openApi(value as JsonSchema)]];
        default:
          return [[keyword, value]];
      }
    }),
  );
}

/** Whether these are the algorithms of a limit, which are told apart by a field. */
function isLimits(oneOf: readonly JsonSchema[]): oneOf is readonly { readonly $ref: string }[] {
  return oneOf.every(({ $ref }) => $ref !== undefined);
}

function limitReferences(oneOf: readonly { $ref: string }[]): [string, unknown][] {
  const mapping = Object.fromEntries(
    oneOf.map(({ $ref }) => {
      const algorithm = $ref.replace(/^.*\//, '');
      return [algorithm, REFERENCE + limitSchemaName(algorithm)];
    }),
  );
  return [
    ['oneOf', Object.values(mapping).map(($ref) => ({ $ref }))],
    ['discriminator', { propertyName: LIMIT.tag, mapping }],
  ];
}
