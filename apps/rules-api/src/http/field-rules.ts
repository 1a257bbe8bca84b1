import { ValidateBy, type ValidationArguments } from 'class-validator';

/** What is wrong with a field: where below the field (JSON pointer, '' for the field itself), and what was expected. */
export interface Fault {
  readonly at: string;
  readonly detail: string;
}

/** Looks at the value of a field, and at the object that it belongs to. */
export type Check = (value: unknown, object: object, property: string) => readonly Fault[];

/** A value as an error may show it: as JSON, shortened. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

/** The fault of the whole value. */
export function fault(expected: string, value: unknown): Fault[] {
  return [{ at: '', detail: `${expected}, got ${shown(value)}` }];
}

/**
 * A class-validator decorator for `check`. class-validator has one message for a field, while a list can be wrong in
 * several places; so the message carries the faults, and `faultsOf` reads them.
 */
export function Fits(check: Check): PropertyDecorator {
  const faults = (value: unknown, args?: ValidationArguments) => (args ? check(value, args.object, args.property) : []);
  return ValidateBy({
    name: 'fits',
    validator: {
      validate: (value, args) => faults(value, args).length === 0,
      defaultMessage: (args) => JSON.stringify(faults(args?.value, args)),
    },
  });
}

/** The faults in the constraints of a ValidationError, if a check of `Fits` failed. */
export function faultsOf(constraints: Readonly<Record<string, string>>): readonly Fault[] | undefined {
  const message = constraints['fits'];
  return message === undefined ? undefined : (JSON.parse(message) as Fault[]);
}

export const wholeNumber =
  (min: number, max: number): Check =>
  (value) =>
    Number.isInteger(value) && (value as number) >= min && (value as number) <= max
      ? []
      : fault(`must be a whole number from ${min} to ${max}`, value);

export const trueOrFalse: Check = (value) => (typeof value === 'boolean' ? [] : fault('must be true or false', value));

export const oneOf =
  (values: readonly string[]): Check =>
  (value) =>
    values.includes(value as string) ? [] : fault(`must be one of ${values.join(', ')}`, value);

/** Text that people read: one line, nothing invisible at its ends. */
export const line =
  (maxLength: number): Check =>
  (value) =>
    isLine(value) && value.length >= 1 && value.length <= maxLength
      ? []
      : fault(`must be a text of 1 to ${maxLength} characters, without control characters, no space at either end`, value);

/** `line` for OpenAPI, whose patterns know no classes of Unicode. */
export const LINE_PATTERN = '^(?!\\s)[^\\u0000-\\u001f\\u007f-\\u009f]+(?<!\\s)$';

function isLine(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !/\p{Cc}|^\s|\s$/u.test(value);
}

export const plainObject: Check = (value) => (isPlainObject(value) ? [] : fault('must be an object', value));

export const plainObjectOrNull: Check = (value) =>
  value === null || isPlainObject(value) ? [] : fault('must be an object, or null for none', value);

export function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export interface ListBounds {
  readonly min: number;
  readonly max: number;
}

/** A list of different items, each of which passes `check`. */
export const listOf =
  (check: (value: unknown) => readonly Fault[], { min, max }: ListBounds): Check =>
  (value) => {
    if (!Array.isArray(value)) return fault('must be a list', value);
    if (value.length < min || value.length > max) {
      return [{ at: '', detail: `must have ${min} to ${max} items, got ${value.length}` }];
    }
    return value.flatMap((item: unknown, index) => {
      const faults = check(item).map(({ at, detail }) => ({ at: `/${index}${at}`, detail }));
      const repeated = typeof item === 'string' && value.indexOf(item) < index;
      return repeated ? [...faults, { at: `/${index}`, detail: `must not repeat ${shown(item)}` }] : faults;
    });
  };
