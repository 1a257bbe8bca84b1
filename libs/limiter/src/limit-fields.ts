import { CONCURRENCY } from './algorithms/concurrency/fields.js';
import { FIXED_WINDOW } from './algorithms/fixed-window/fields.js';
import { GCRA } from './algorithms/gcra/fields.js';
import { LEAKY_BUCKET } from './algorithms/leaky-bucket/fields.js';
import { SLIDING_COUNTER } from './algorithms/sliding-counter/fields.js';
import { SLIDING_LOG } from './algorithms/sliding-log/fields.js';
import { TOKEN_BUCKET } from './algorithms/token-bucket/fields.js';
import { COMMON_FIELDS } from './common-fields.js';
import type { ValueOf, Variant, VariantsField } from './field.js';
import { isPlainObject } from './field-faults.js';

/** The language of a limit: a table of fields for each algorithm. */
export const LIMIT = {
  kind: 'variants',
  tag: 'algorithm',
  code: 'limit',
  common: COMMON_FIELDS,
  variants: {
    token_bucket: TOKEN_BUCKET,
    gcra: GCRA,
    leaky_bucket: LEAKY_BUCKET,
    fixed_window: FIXED_WINDOW,
    sliding_log: SLIDING_LOG,
    sliding_counter: SLIDING_COUNTER,
    concurrency: CONCURRENCY,
  },
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
