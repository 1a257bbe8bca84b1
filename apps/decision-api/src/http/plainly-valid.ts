import type { Field, Fields } from '#limiter';

type JsonObject = Readonly<Record<string, unknown>>;
type Fits = (value: unknown, object: JsonObject) => boolean;

/** A table of fields, made ready for objects that are right. */
interface ReadyTable {
  readonly fits: ReadonlyMap<string, Fits>;
  readonly required: number;
}

const READY = new WeakMap<Fields, ReadyTable>();

/**
 * Whether an object is certainly right by its table: in one pass over its members, without a list of faults. False says nothing: perhaps it is right, and only of a kind
 * that takes a longer look.
 */
export function isPlainlyValid(object: JsonObject, fields: Fields): boolean {
  let table = READY.get(fields);
  if (table === undefined) READY.set(fields, (table = readyTable(fields)));
  let required = 0;
  for (const name in object) {
    const fits = table.fits.get(name);
    if (fits === undefined || !fits(object[name], object)) return false;
    if (fields[name]!.required === true) required++;
  }
  return required === table.required;
}

function readyTable(fields: Fields): ReadyTable {
  const entries = Object.entries(fields);
  // A field that another one asks for would have to be looked at when it is absent.
  const isEach = entries.every(([, { required, onlyFor }]) => onlyFor === undefined && (required === undefined || required === true));
  const fits = isEach ? entries.flatMap(([name, field]) => withCheck(name, field)) : [];
  return { fits: new Map(fits), required: entries.filter(([, { required }]) => required !== undefined).length };
}

function withCheck(name: string, field: Field): readonly (readonly [name: string, fits: Fits])[] {
  const fits = checkOf(field);
  return fits === undefined ? [] : [[name, fits]];
}

const PLACE = { pointer: '', code: '' };

function checkOf(field: Field): Fits | undefined {
  switch (field.kind) {
    case 'text':
      return (value) => typeof value === 'string' && field.format.fault(value) === undefined;
    case 'whole_number':
      return (value) => Number.isInteger(value) && (value as number) >= field.min && (value as number) <= field.max;
    case 'truth':
      return (value) => typeof value === 'boolean';
    case 'custom':
      return (value, object) => value !== undefined && field.check(value, PLACE, object).length === 0;
    default:
      return undefined;
  }
}
