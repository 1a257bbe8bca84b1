import { LIMIT_ALGORITHMS } from '../algorithms/index.js';
import { COMMON_FIELDS } from '../fields/common-fields.js';
import type { ValueOf, Variant, VariantsField } from '../fields/field.js';
import { isPlainObject } from '../fields/field-faults.js';

type Algorithms = typeof LIMIT_ALGORITHMS;
type Tables = { readonly [Name in keyof Algorithms]: Algorithms[Name]['table'] };

function tablesOf(algorithms: Algorithms): Tables {
  return Object.fromEntries(Object.entries(algorithms).map(([name, { table }]) => [name, table])) as unknown as Tables;
}

/** The language of a limit: a table of fields for each algorithm. */
export const LIMIT = {
  kind: 'variants',
  tag: 'algorithm',
  code: 'limit',
  common: COMMON_FIELDS,
  variants: tablesOf(LIMIT_ALGORITHMS),
  toCome: { onLimit: (value) => isPlainObject(value) && Object.hasOwn(value, 'reroute') },
  explanation: 'One bound of a rule: an algorithm and its numbers.',
} as const satisfies VariantsField;

/** A limit as an administrator writes it, with every default filled in. */
export type LimitSpec = ValueOf<typeof LIMIT>;
export type AlgorithmName = LimitSpec['algorithm'];

export const ALGORITHM_NAMES = Object.keys(LIMIT.variants) as readonly AlgorithmName[];

type KeysOf<Spec> = Spec extends LimitSpec ? keyof Spec : never;
export type LimitField = KeysOf<LimitSpec>;

/** The fields of a limit of an algorithm, in the order in which they are shown. */
export function fieldsOf(algorithm: AlgorithmName): readonly LimitField[] {
  const { fields }: Variant = LIMIT.variants[algorithm];
  const own = Object.keys(fields).filter((field) => !(field in COMMON_FIELDS));
  const common = Object.keys(COMMON_FIELDS).filter((field) => field !== 'name');
  return ['name', LIMIT.tag, ...own, ...common] as LimitField[];
}
