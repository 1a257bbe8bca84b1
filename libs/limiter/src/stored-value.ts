import { valueFaults } from './field-faults.js';
import type { Field, ValueOf } from './field.js';

/** Values as they come back from a store, read as input from outside: what is not as it should be is an UnreadableError. */

/** What was stored is not what it should be. The message says where and what, and quotes at most a few characters. */
export class UnreadableError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnreadableError';
  }
}

/** What stands nowhere, or as null in a column, is none. */
export function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Checks by the table by which it was written. Small or of bounded size: what is wrong is quoted shortly. */
export function valueAt<F extends Field>(value: unknown, field: F, at: string): ValueOf<F> {
  const [fault] = valueFaults(value, field, { pointer: '', code: 'rule' });
  if (fault === undefined) return value as ValueOf<F>;
  throw new UnreadableError(`${at}${fault.pointer.replaceAll('/', '.')}: ${fault.detail.slice(0, MOST_QUOTED)}`);
}

const MOST_QUOTED = 200;

/** Throws UnreadableError unless it is a JSON object. */
export function objectAt(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail(at, 'must be an object', value);
  return value as Record<string, unknown>;
}

/** Throws UnreadableError unless it is a whole number within bounds. */
export function wholeAt(value: unknown, at: string, min: number, max: number): number {
  if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max)
    fail(at, `must be a whole number from ${min} to ${max}`, value);
  return value as number;
}

/** Throws UnreadableError unless it is a list of a length within bounds. */
export function listAt(value: unknown, at: string, min: number, max: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length < min || value.length > max) return fail(at, `must be a list of ${min} to ${max}`, value);
  return value;
}

/** Throws UnreadableError unless it is one of the names. */
export function oneOfAt<T extends string>(value: unknown, names: readonly T[], at: string): T {
  return names.includes(value as T) ? (value as T) : fail(at, `must be one of ${names.join(', ')}`, value);
}

/** Quotes texts and numbers only, and shortly: what is wrong may be large, deep or secret. */
export function fail(at: string, expected: string, value: unknown): never {
  const got =
    typeof value === 'string'
      ? JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
      : typeof value === 'number'
        ? String(value)
        : value === undefined
          ? 'nothing'
          : Array.isArray(value)
            ? 'a list'
            : `a ${typeof value}`;
  throw new UnreadableError(`${at}: ${expected}, got ${got}`);
}
