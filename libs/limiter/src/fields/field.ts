/**
 * A field of a rule or of a limit, as data. The tables made of these are the only place that says what an administrator may write: the
 * checks, the types, the OpenAPI document and the JSON Schema follow from them.
 */

/** Why a field is refused: the last part of the code of a fault. The sentences explain it to whoever reads the page of the problem. */
export const FAULT_REASONS = {
  missing: 'The field is required and was not given.',
  unknown_field: 'The object has no field of this name.',
  wrong_type: 'The value is of another type: a text where a number belongs, null where nothing may be null, and so on.',
  not_whole: 'The number has a fraction.',
  out_of_range: 'The number is smaller or larger than allowed.',
  not_one_of: 'The text is none of the values that are allowed here.',
  malformed: 'The text or the object is of the right type and does not have the right form.',
  wrong_length: 'The list or the map has too few or too many items.',
  repeated: 'An item of a list occurs twice, or two limits or two reserved shares have the same name.',
  not_applicable: 'The field does not go with the value of another field.',
  too_fast: 'The refill is faster than 1,000,000 tokens a second.',
  inexact: 'The refill is a fraction that cannot be counted exactly.',
  too_slow: 'The bucket takes longer than ten years to fill.',
  too_many_steps: 'The bucket takes too many steps of the calendar to fill.',
  surplus_of_nothing: 'A limit with the capacity 0 cannot start with tokens.',
  not_divisible: 'The parts of the window are not whole microseconds.',
  too_complex: 'The conditions of the rule are more than 50, or nested deeper than 5 levels.',
  not_enforced: 'The field, or this value of it, is part of the language of a rule and not enforced yet, so a rule that has it is refused.',
} as const;
export type FaultReason = keyof typeof FAULT_REASONS;

/** What every field says of itself. */
interface About {
  /** Whole sentences, for the OpenAPI document and the JSON Schema. */
  readonly explanation: string;
  readonly example?: unknown;
  /** Whether it has to be written: always, or unless another field is. */
  readonly required?: true | { readonly unless: string };
  /** It must be given where another field has this value, and must not be given elsewhere. */
  readonly onlyFor?: { readonly field: string; readonly value: string };
  /** Filled in when a rule is written without the field. */
  readonly default?: unknown;
  /** A stored rule may lack the field, and means this. */
  readonly absentMeans?: unknown;
}

export interface WholeNumberField extends About {
  readonly kind: 'whole_number';
  readonly min: number;
  readonly max: number;
  readonly unit?: 'milliseconds' | 'tokens' | 'percent' | 'requests';
  /** Whether an override multiplies it, or puts another number in its place: the permitted burst, and what comes back in an interval. */
  readonly scales?: true;
  /** Why the bounds are what they are; completes the sentence that names them. */
  readonly because?: string;
}

export interface ChoiceField extends About {
  readonly kind: 'choice';
  readonly values: readonly string[];
}

export interface TruthField extends About {
  readonly kind: 'truth';
}

export interface TextField extends About {
  readonly kind: 'text';
  readonly format: TextFormat;
  readonly nullable?: true;
}

/** The form of a text. */
export interface TextFormat {
  /** What is said of a value that is no text. */
  readonly expected: string;
  /** What was expected instead of this text; nothing if it is right. */
  readonly fault: (text: string) => string | undefined;
  /** As much of it as a JSON Schema can say; never stricter than `fault`. */
  readonly schema: { readonly minLength?: number; readonly maxLength?: number; readonly pattern?: string };
}

export interface ObjectField extends About {
  readonly kind: 'object';
  readonly fields: Fields;
  readonly nullable?: true;
  /** If given, whatever is wrong inside is one fault of the whole object, told by this. */
  readonly expected?: string;
}

export interface ListField extends About {
  readonly kind: 'list';
  readonly of: Field;
  readonly min: number;
  readonly max: number;
}

/** Texts under names that the writer chooses. */
export interface MapField extends About {
  readonly kind: 'map';
  readonly keys: TextFormat;
  readonly values: TextFormat;
  /** Of entries. */
  readonly max: number;
}

/** What no other kind can say: it brings its own check and its own schema. */
export interface CustomField<V = unknown> extends About {
  readonly kind: 'custom';
  readonly check: CustomCheck;
  /** JSON Schema, which may refer to `#/$defs/condition`. */
  readonly schema: object;
  /** Only carries the type of the values. */
  readonly [VALUE]?: V;
}
declare const VALUE: unique symbol;

/** @param object in which the value stands, for what depends on a field beside it */
export type CustomCheck = (value: unknown, place: Place, object: Readonly<Record<string, unknown>>) => readonly Fault[];

/** A part of the language of a rule that is not enforced yet: it is refused, but for values that change nothing. */
export interface FieldToCome extends About {
  readonly kind: 'to_come';
  /** They say what holds anyway. They are accepted, and not kept. */
  readonly permitted: readonly unknown[];
}

/** Where a check stands. */
export interface Place {
  readonly pointer: string;
  /** What codes begin with. */
  readonly code: string;
  /** Limits quote the names of a choice and propose the nearest number. */
  readonly ofLimit?: boolean | undefined;
  /** A stored spec is complete: what has a default must be there, and fields that are not known are another version's. */
  readonly stored?: boolean | undefined;
}

/** What is wrong with a value that came from outside. */
export interface Fault {
  /** JSON pointer (RFC 6901) to the value. */
  readonly pointer: string;
  /** Stable, for programs: what the value belongs to, the field, and the reason, like `limit.capacity.out_of_range`. */
  readonly code: string;
  /** For people. */
  readonly detail: string;
  /** For a number that is refused: the one next to it that is not. */
  readonly nearest?: number;
}

/** An object whose fields depend on the value of one of them. */
export interface VariantsField extends About {
  readonly kind: 'variants';
  readonly tag: string;
  readonly variants: Readonly<Record<string, Variant>>;
  /** The fields that are the same in all variants. */
  readonly common: Fields;
  /** What codes of faults begin with. */
  readonly code: string;
  /** Values that belong to the language, whatever the variant, and are not enforced yet: by the field in which they would stand. */
  readonly toCome?: Readonly<Record<string, (value: unknown) => boolean>>;
}

export interface Variant {
  readonly explanation: string;
  /** All fields but the tag. */
  readonly fields: Fields;
  readonly relations: readonly Relation[];
}

/** What must hold between fields that are right one by one. */
export interface Relation {
  /** Looked at in order; the first relation that has faults is the last that is looked at. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the object has been checked field by field against the variant's table
  readonly faults: (spec: any) => readonly RelationFault[];
  /** The same as a JSON Schema of the object; without one, no schema can say it. */
  readonly schema?: object;
}

export interface RelationFault {
  readonly field: string;
  readonly reason: FaultReason;
  readonly detail: string;
  /** For a number that is refused: the one next to it that is not. */
  readonly nearest?: number;
}

export type Field =
  WholeNumberField | ChoiceField | TruthField | TextField | ObjectField | ListField | MapField | VariantsField | CustomField | FieldToCome;
export type Fields = Readonly<Record<string, Field>>;

/** What a field holds in a spec that is complete: every default is filled in. */
export type ValueOf<F> = F extends { kind: 'whole_number' }
  ? number
  : F extends { kind: 'choice'; values: readonly (infer V)[] }
    ? V
    : F extends { kind: 'truth' }
      ? boolean
      : F extends { kind: 'text' }
        ? string | (F extends { nullable: true } ? null : never)
        : F extends { kind: 'object'; fields: infer Inner; nullable: true }
          ? SpecOf<Inner> | null
          : F extends { kind: 'object'; fields: infer Inner }
            ? SpecOf<Inner>
            : F extends { kind: 'list'; of: infer Item }
              ? readonly ValueOf<Item>[]
              : F extends { kind: 'map' }
                ? Readonly<Record<string, string>>
                : F extends { kind: 'variants'; tag: infer Tag extends string; variants: infer Variants }
                  ? { [A in keyof Variants]: VariantOf<Tag, A, Variants[A]> }[keyof Variants]
                  : F extends { kind: 'custom'; readonly [VALUE]?: infer V }
                    ? V
                    : never;

type VariantOf<Tag extends string, A, V> = V extends { fields: infer F } ? Flat<{ readonly [T in Tag]: A } & SpecOf<F>> : never;

/** What is always there: what must be written, and what has a default that is filled in. */
type IsAlwaysThere<F> = F extends { required: true }
  ? true
  : F extends { absentMeans: unknown }
    ? false
    : F extends { default: unknown }
      ? true
      : false;

/** The object that a table of fields describes. */
export type SpecOf<F> = Flat<
  { readonly [K in keyof F as IsAlwaysThere<F[K]> extends true ? K : never]: ValueOf<F[K]> } & {
    readonly [K in keyof F as F[K] extends { kind: 'to_come' } ? never : IsAlwaysThere<F[K]> extends true ? never : K]?: ValueOf<F[K]>;
  }
>;

type Flat<T> = { [K in keyof T]: T[K] };
