import { ALGORITHM_NAMES, type AlgorithmName, type Field, type Fields, LIMIT, RULE_FIELDS, type Variant } from '#limiter';

/** A named example of a body, as OpenAPI has them. */
export interface NamedExample {
  readonly summary: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** Where the table has no example, or its default would be one that shows nothing. */
const OTHER_VALUES: Readonly<Record<string, unknown>> = {
  priority: 200,
  mode: { enforcePercent: 10 },
  key: ['merchant', 'ip.prefix'],
  cost: 5,
};

/**
 * A rule with a limit of each algorithm, and a rule with each part that may be left out. They are made from the tables of fields, so that a new
 * algorithm and a new part have one, too.
 */
export function ruleExamples(): Record<string, NamedExample> {
  const algorithms = ALGORITHM_NAMES.map((algorithm): [string, NamedExample] => [
    algorithm,
    { summary: `A limit with the algorithm ${algorithm}`, value: { name: `limited by ${algorithm}`, limits: [limitExample(algorithm)] } },
  ]);
  const limits = [limitExample('token_bucket')];
  const parts = Object.entries<Field>(RULE_FIELDS)
    .filter(([name, field]) => name !== 'name' && name !== 'limits' && field.kind !== 'to_come')
    .map(([name, field]): [string, NamedExample] => [
      name,
      { summary: `A rule with ${name}`, value: { name: `with ${name}`, [name]: OTHER_VALUES[name] ?? exampleOf(field), limits } },
    ]);
  return Object.fromEntries([...algorithms, ...parts]);
}

function limitExample(algorithm: AlgorithmName): Record<string, unknown> {
  const { fields }: Variant = LIMIT.variants[algorithm];
  const { name, ...others } = objectExample(fields, (field) => field.required !== undefined);
  // Either a length or a calendar is required, which is a relation of fields.
  const { windowMs } = fields;
  return { name, [LIMIT.tag]: algorithm, ...others, ...(windowMs && { windowMs: exampleOf(windowMs) }) };
}

function exampleOf(field: Field): unknown {
  if (field.example !== undefined) return field.example;
  switch (field.kind) {
    case 'object':
      return objectExample(field.fields, (below) => below.example !== undefined || below.required !== undefined);
    case 'list':
      return field.default ?? [exampleOf(field.of)];
    case 'choice':
      return field.values.find((value) => value !== field.default);
    case 'truth':
      return field.default !== true;
    case 'whole_number':
      return field.default ?? field.min;
    default:
      return field.default;
  }
}

function objectExample(fields: Fields, isShown: (field: Field) => boolean): Record<string, unknown> {
  const shown = Object.entries(fields).filter(([, field]) => isShown(field));
  return Object.fromEntries(shown.map(([name, field]) => [name, exampleOf(field)]));
}
