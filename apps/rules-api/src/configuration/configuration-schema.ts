import { type BEYOND_THE_SCHEMA, type JsonSchema, objectSchema, ruleSchema } from '#limiter';
import { problemTypeUri } from '#platform';
import { CONFIGURATION_FIELDS } from './configuration-fields.js';

/** What besides the faults of rules a JSON Schema of a document cannot say. */
const BEYOND_THE_CONFIGURATION_SCHEMA: typeof BEYOND_THE_SCHEMA = [
  { code: /^merchant\.id\.repeated$/, explanation: 'A merchant stands in a document once.' },
  { code: /^rule\.name\.repeated$/, explanation: 'The rules of a merchant, and the default rules, have different names.' },
  { code: /^merchant\.timeZone\.malformed$/, explanation: 'The time zone of a merchant is one that the server knows.' },
  { code: /^merchant\.(?:name|labels)\.malformed$/, explanation: 'No surrogate stands alone in a text.' },
];

/** JSON Schema, draft 2020-12, of merchants and rules as a file: what apply takes and export writes. */
export function configurationSchema(): JsonSchema {
  const { $schema, $defs, $comment } = ruleSchema();
  const schema = withoutUniqueItems(objectSchema(CONFIGURATION_FIELDS)) as JsonSchema;
  return {
    $schema,
    title: 'Configuration',
    description: 'Merchants and rules of Tollgate as a file.',
    $comment: `${String($comment)} ${BEYOND_THE_CONFIGURATION_SCHEMA.map(({ explanation }) => explanation).join(' ')}`,
    ...schema,
    $defs,
  };
}

/** Where an editor finds it: beside the pages of problems, because PROBLEM_TYPE_BASE says where others find this API. */
export function configurationSchemaUrl(): string {
  return new URL('../schema/configuration.json', problemTypeUri('not-found')).href;
}

/** Validators compare each item with each other one, which takes minutes for the rules of a large file. Names tell its items apart anyway. */
function withoutUniqueItems(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutUniqueItems);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { uniqueItems, ...others } = schema as Record<string, unknown>;
  const isOfObjects = (others['items'] as { type?: unknown } | undefined)?.type === 'object';
  return {
    ...Object.fromEntries(Object.entries(others).map(([name, below]) => [name, withoutUniqueItems(below)])),
    ...(uniqueItems !== undefined && !isOfObjects && { uniqueItems }),
  };
}
