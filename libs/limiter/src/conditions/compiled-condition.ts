import { type Condition, type FieldCondition, type Operator, OPERATORS } from './condition.js';
import { operatorTest } from './operators.js';
import type { FieldValue } from './field-value.js';
import { type AskedFields, requestField, type RequestField } from './request-field.js';

/** A condition that is ready to be asked. */
export interface CompiledCondition {
  readonly holds: (request: AskedFields) => boolean;
  /** Whether it holds for some value of what is not known, as of a body that cannot be read. Where everything is known it is `holds`. */
  readonly couldHold: (request: AskedFields) => boolean;
  /** The same for its opposite. */
  readonly couldFail: (request: AskedFields) => boolean;
  /** Why it does not hold, or if it is negated why it does: the first field that decides. Asked only where somebody wants to know. */
  readonly reason: (request: AskedFields) => ConditionReason;
}

/** The field of a request that decided a condition. */
export interface ConditionReason {
  readonly field: string;
  /** The condition on the field as it is written, without the field. */
  readonly expected: unknown;
  readonly got: FieldValue;
}

/** All of them have to hold. */
export function compiledConditions(conditions: readonly Condition[]): CompiledCondition {
  return allOf(conditions.map(compiled));
}

export function compiled(condition: Condition): CompiledCondition {
  if ('all' in condition) return allOf(condition.all.map(compiled));
  if ('any' in condition) return anyOf(condition.any.map(compiled));
  if ('not' in condition) return notOf(compiled(condition.not));
  return onField(condition);
}

function allOf(parts: readonly CompiledCondition[]): CompiledCondition {
  return {
    holds: (request) => parts.every((part) => part.holds(request)),
    couldHold: (request) => parts.every((part) => part.couldHold(request)),
    couldFail: (request) => parts.some((part) => part.couldFail(request)),
    reason: (request) => (parts.find((part) => !part.holds(request)) ?? parts[0]!).reason(request),
  };
}

function anyOf(parts: readonly CompiledCondition[]): CompiledCondition {
  return {
    holds: (request) => parts.some((part) => part.holds(request)),
    couldHold: (request) => parts.some((part) => part.couldHold(request)),
    couldFail: (request) => parts.every((part) => part.couldFail(request)),
    reason: (request) => (parts.find((part) => part.holds(request)) ?? parts[0]!).reason(request),
  };
}

function notOf(part: CompiledCondition): CompiledCondition {
  return {
    holds: (request) => !part.holds(request),
    couldHold: (request) => part.couldFail(request),
    couldFail: (request) => part.couldHold(request),
    reason: (request) => {
      const { expected, ...rest } = part.reason(request);
      return { ...rest, expected: { not: expected } };
    },
  };
}

function onField(condition: FieldCondition): CompiledCondition {
  const { field: written, ...expected } = condition;
  const field: RequestField = requestField(written);
  const test = operatorTest(operatorOf(condition), condition);
  const { isUnknown = () => false } = field;
  return {
    holds: (request) => test(request.valueOf(field)),
    couldHold: (request) => isUnknown(request) || test(request.valueOf(field)),
    couldFail: (request) => isUnknown(request) || !test(request.valueOf(field)),
    reason: (request) => ({ field: field.name, expected, got: request.valueOf(field) }),
  };
}

function operatorOf(condition: FieldCondition): Operator {
  const found = Object.entries(OPERATORS).find(([, members]) => members[0] in condition);
  if (found === undefined) throw new Error(`a condition on ${JSON.stringify(condition.field)} has no operator`);
  return found[0] as Operator;
}
