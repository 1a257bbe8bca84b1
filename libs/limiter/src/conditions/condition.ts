/** A condition as it is written. The values of the operators have been checked: see condition-fields.ts. */
export type Condition = FieldCondition | AllCondition | AnyCondition | NotCondition;

export interface AllCondition {
  readonly all: readonly Condition[];
}

export interface AnyCondition {
  readonly any: readonly Condition[];
}

export interface NotCondition {
  readonly not: Condition;
}

/** What one field of a request must be. It has one operator; `from` and `to` are one together. */
export interface FieldCondition {
  readonly field: string;
  readonly equals?: Scalar;
  readonly in?: readonly Scalar[];
  readonly startsWith?: string;
  readonly endsWith?: string;
  readonly contains?: string | readonly string[];
  readonly like?: string;
  readonly atLeast?: number;
  readonly atMost?: number;
  readonly from?: number;
  readonly to?: number;
  readonly inRanges?: readonly string[];
  readonly absent?: true;
}

export type Scalar = string | number;

/** The operators, each with the members that it consists of. */
export const OPERATORS = {
  equals: ['equals'],
  in: ['in'],
  startsWith: ['startsWith'],
  endsWith: ['endsWith'],
  contains: ['contains'],
  like: ['like'],
  atLeast: ['atLeast'],
  atMost: ['atMost'],
  between: ['from', 'to'],
  inRanges: ['inRanges'],
  absent: ['absent'],
} as const satisfies Record<string, readonly (keyof FieldCondition)[]>;
export type Operator = keyof typeof OPERATORS;

/** Conditions of a rule, combined ones included. */
export const MOST_CONDITIONS = 50;
/** The list of a rule is the first level; each `all`, `any` and `not` is one more. */
export const MOST_LEVELS = 5;

/** The names of the fields that conditions look at, as they are written. */
export function fieldsIn(conditions: readonly Condition[]): string[] {
  return conditions.flatMap((condition) => {
    if ('all' in condition) return fieldsIn(condition.all);
    if ('any' in condition) return fieldsIn(condition.any);
    return 'not' in condition ? fieldsIn([condition.not]) : [condition.field];
  });
}
