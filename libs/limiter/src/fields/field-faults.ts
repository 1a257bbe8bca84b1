import type {
  Fault,
  FaultReason,
  Field,
  Fields,
  FieldToCome,
  ListField,
  MapField,
  ObjectField,
  Place,
  TextField,
  Variant,
  VariantsField,
  WholeNumberField,
} from './field.js';
import { nearestName } from './nearest-name.js';
import { shown } from './shown.js';

/** What is wrong with a value that came from outside, found by its table of fields. */

/** Longer names of unknown fields are cut. */
const MAX_NAME_LENGTH = 500;

/** Every fault of an object, that of each unknown field included. */
export function objectFaults(value: Readonly<Record<string, unknown>>, fields: Fields, place: Place): Fault[] {
  const faults = place.stored ? [] : unknownFieldFaults(value, fields, place);
  for (const [name, field] of entriesOf(fields)) faults.push(...memberFaults(value, name, field, place));
  return faults;
}

/** A table is one object for as long as the process lives, and is looked at for every rule. */
const ENTRIES = new WeakMap<Fields, readonly (readonly [name: string, field: Field])[]>();

function entriesOf(fields: Fields): readonly (readonly [name: string, field: Field])[] {
  let entries = ENTRIES.get(fields);
  if (entries === undefined) ENTRIES.set(fields, (entries = Object.entries(fields)));
  return entries;
}

/** For each a similar name is sought, and a body has room for thousands: beyond this many one fault tells of all of them. */
const MOST_UNKNOWN_FIELDS = 100;

function unknownFieldFaults(value: object, known: Fields, { pointer, code: ofObject }: Place): Fault[] {
  const code = `${ofObject}.unknown_field`;
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(known, name));
  if (unknown.length > MOST_UNKNOWN_FIELDS) return [{ pointer, code, detail: `has ${unknown.length} fields that are not known here` }];
  return unknown.map((name) => {
    const nearest = nearestName(name, Object.keys(known));
    const detail = nearest === undefined ? UNKNOWN_FIELD : `${UNKNOWN_FIELD}; did you mean "${nearest}"?`;
    return { pointer: `${pointer}/${escapedPointer(name)}`, code, detail };
  });
}

export const UNKNOWN_FIELD = 'is not a field that is known here';

/** RFC 6901. Names of unknown fields are the caller's and may be anything. */
export function escapedPointer(name: string): string {
  return name.slice(0, MAX_NAME_LENGTH).replaceAll('~', '~0').replaceAll('/', '~1');
}

function memberFaults(object: Readonly<Record<string, unknown>>, name: string, field: Field, place: Place): readonly Fault[] {
  const value = own(object, name);
  const { onlyFor } = field;
  const isApplicable = onlyFor === undefined || own(object, onlyFor.field) === onlyFor.value;
  // Most fields are absent from most objects.
  if (value === undefined && (!isApplicable || mayBeAbsent(field, object, place))) return NO_FAULTS;
  const below = { pointer: `${place.pointer}/${name}`, code: `${place.code}.${name}`, ofLimit: place.ofLimit, stored: place.stored };
  if (!isApplicable) return [fault(below, 'not_applicable', `goes with ${onlyFor.field} '${onlyFor.value}' only`, value)];
  return fieldFaults(value, field, below, object);
}

const NO_FAULTS: readonly Fault[] = [];

function mayBeAbsent({ required, onlyFor, default: preset, absentMeans }: Field, object: object, { stored }: Place): boolean {
  if (onlyFor !== undefined || required === true) return false;
  if (required !== undefined) return own(object, required.unless) !== undefined;
  return !stored || preset === undefined || absentMeans !== undefined;
}

/** Names that objects inherit are no fields. */
function own(object: object, name: string): unknown {
  return Object.hasOwn(object, name) ? (object as Record<string, unknown>)[name] : undefined;
}

/** Every fault of a value by the field in which it stands. */
export function valueFaults(value: unknown, field: Field, place: Place): readonly Fault[] {
  return fieldFaults(value, field, place);
}

function fieldFaults(value: unknown, field: Field, place: Place, object: Readonly<Record<string, unknown>> = {}): readonly Fault[] {
  switch (field.kind) {
    case 'whole_number':
      return wholeNumberFaults(value, field, place);
    case 'choice':
      return typeof value === 'string' && field.values.includes(value)
        ? []
        : [fault(place, typeof value === 'string' ? 'not_one_of' : 'wrong_type', choiceExpected(field.values, place), value)];
    case 'truth':
      return typeof value === 'boolean' ? [] : [fault(place, 'wrong_type', 'must be true or false', value)];
    case 'text':
      return textFaults(value, field, place);
    case 'object':
      return nestedFaults(value, field, place);
    case 'list':
      return listFaults(value, field, place);
    case 'map':
      return mapFaults(value, field, place);
    case 'variants':
      return variantFaults(value, field, place);
    case 'custom':
      return field.check(value, place, object);
    case 'to_come':
      return faultsToCome(value, field, place);
  }
}

function textFaults(value: unknown, { format, nullable }: TextField, place: Place): Fault[] {
  if (value === null && nullable) return [];
  if (typeof value !== 'string') return [fault(place, 'wrong_type', format.expected, value)];
  const expected = format.fault(value);
  return expected === undefined ? [] : [fault(place, 'malformed', expected, value)];
}

function faultsToCome(value: unknown, { permitted }: FieldToCome, place: Place): Fault[] {
  const isPermitted = permitted.some((each) => JSON.stringify(each) === JSON.stringify(value));
  return isPermitted ? [] : [notEnforced(place)];
}

/** Of a part of the language that is known: it is no misspelling, and no promise. */
function notEnforced(place: Place): Fault {
  return faultOf(place, 'not_enforced', 'is part of the language of a rule and not enforced yet, so a rule that has it is refused');
}

function wholeNumberFaults(value: unknown, { min, max, because = '' }: WholeNumberField, place: Place): Fault[] {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return [];
  const expected = `must be a whole number from ${min} to ${max}${because}`;
  if (typeof value !== 'number' || Number.isNaN(value)) return [fault(place, 'wrong_type', expected, value)];
  const reason = value >= min && value <= max ? 'not_whole' : 'out_of_range';
  const nearest = Math.min(max, Math.max(min, Math.round(value)));
  const found = fault(place, reason, expected, value);
  return [place.ofLimit ? { ...found, detail: `${found.detail}; the nearest is ${nearest}`, nearest } : found];
}

function choiceExpected(values: readonly string[], { ofLimit }: Place): string {
  if (!ofLimit) return `must be one of ${values.join(', ')}`;
  const names = values.map((name) => `'${name}'`);
  return `must be ${names.length === 2 ? names.join(' or ') : `one of ${names.join(', ')}`}`;
}

function nestedFaults(value: unknown, { fields, nullable, expected }: ObjectField, place: Place): Fault[] {
  if (value === null && nullable) return [];
  if (!isPlainObject(value)) {
    return [fault(place, 'wrong_type', expected ?? `must be an object${nullable ? ', or null for none' : ''}`, value)];
  }
  const faults = objectFaults(value, fields, { ...place, stored: false });
  return faults.length > 0 && expected !== undefined ? [fault(place, 'malformed', expected, value)] : faults;
}

function listFaults(value: unknown, { of, min, max }: ListField, place: Place): Fault[] {
  if (!Array.isArray(value)) return [fault(place, 'wrong_type', 'must be a list', value)];
  if (value.length < min || value.length > max) {
    return [faultOf(place, 'wrong_length', `must have ${min} to ${max} items, got ${value.length}`)];
  }
  const faults = value.flatMap((item: unknown, index) => {
    const at = { ...place, pointer: `${place.pointer}/${index}` };
    const repeated = typeof item !== 'object' && value.indexOf(item) < index;
    return [...fieldFaults(item, of, at), ...(repeated ? [faultOf(at, 'repeated', `must not repeat ${shown(item)}`)] : [])];
  });
  return of.kind === 'variants' ? [...faults, ...repeatedNameFaults(value, of, place)] : faults;
}

function mapFaults(value: unknown, { keys, values, max }: MapField, place: Place): Fault[] {
  if (!isPlainObject(value)) return [fault(place, 'wrong_type', 'must be an object', value)];
  const entries = Object.entries(value);
  if (entries.length > max) return [faultOf(place, 'wrong_length', `must have at most ${max} entries, got ${entries.length}`)];
  return entries.flatMap(([key, each]) => {
    const at = { ...place, pointer: `${place.pointer}/${escapedPointer(key)}` };
    const wrongKey = keys.fault(key);
    const keyFaults = wrongKey === undefined ? [] : [fault(at, 'malformed', `the name ${wrongKey}`, key)];
    return [...keyFaults, ...fieldFaults(each, { kind: 'text', format: values, explanation: '' }, at)];
  });
}

/** Limits are told apart by name: in headers, and when a rule is edited. */
function repeatedNameFaults(values: readonly unknown[], { code }: VariantsField, { pointer }: Place): Fault[] {
  const names = values.map((value) => (isPlainObject(value) ? own(value, 'name') : undefined));
  return names.flatMap((name, index) =>
    typeof name === 'string' && names.indexOf(name) < index
      ? [
          faultOf(
            { pointer: `${pointer}/${index}/name`, code: `${code}.name` },
            'repeated',
            `must differ from the names of the other limits, got ${shown(name)} again`,
          ),
        ]
      : [],
  );
}

/** Of an object whose variant is not known, only the common fields are looked at: what else it may hold nobody can say. */
export function variantFaults(value: unknown, field: VariantsField, { pointer, stored = false }: Place): Fault[] {
  const { tag, variants, common, code } = field;
  const place = { pointer, code, ofLimit: true, stored };
  if (!isPlainObject(value)) return [fault(place, 'wrong_type', 'must be an object', value)];
  const name = own(value, tag);
  const variant: Variant | undefined = typeof name === 'string' && Object.hasOwn(variants, name) ? variants[name] : undefined;
  if (variant === undefined) {
    const at = { pointer: `${pointer}/${tag}`, code: `${code}.${tag}` };
    const reason = typeof name === 'string' ? 'not_one_of' : 'wrong_type';
    const expected = choiceExpected(Object.keys(variants), at);
    return [...objectFaults(value, common, { ...place, stored: true }), fault(at, reason, expected, name)];
  }
  const faults = objectFaults(value, fieldsOf(value, variant, field), place);
  return faults.length > 0 ? faults : relationFaults(withDefaults(value, variant.fields), variant, place);
}

/** With the tag, of each variant that was met. */
const TAGGED = new WeakMap<Variant, Fields>();

function fieldsOf(value: object, variant: Variant, field: VariantsField): Fields {
  let tagged = TAGGED.get(variant);
  if (tagged === undefined) {
    const tag = { kind: 'choice', values: Object.keys(field.variants), explanation: '' } as const;
    TAGGED.set(variant, (tagged = { [field.tag]: tag, ...variant.fields }));
  }
  const coming = fieldsToCome(value, field);
  return coming === undefined ? tagged : { ...tagged, ...coming };
}

/** In place of the fields that would hold such a value. */
function fieldsToCome(value: object, { toCome = {} }: VariantsField): Fields | undefined {
  const coming = Object.entries(toCome).filter(([name, isToCome]) => isToCome(own(value, name)));
  if (coming.length === 0) return undefined;
  return Object.fromEntries(coming.map(([name]) => [name, { kind: 'to_come', permitted: [], explanation: '' }]));
}

function relationFaults(spec: object, { relations }: Variant, { pointer, code }: Place): Fault[] {
  for (const { faults } of relations) {
    const found = faults(spec);
    if (found.length > 0) {
      return found.map(({ field, reason, ...rest }) => ({ pointer: `${pointer}/${field}`, code: `${code}.${field}.${reason}`, ...rest }));
    }
  }
  return [];
}

/** The value itself if nothing is missing: a stored spec is complete. */
function withDefaults(value: Readonly<Record<string, unknown>>, fields: Fields): Readonly<Record<string, unknown>> {
  let whole: Record<string, unknown> | undefined;
  for (const [name, field] of entriesOf(fields)) {
    if (field.default === undefined || own(value, name) !== undefined) continue;
    whole ??= { ...value };
    whole[name] = field.default;
  }
  return whole ?? value;
}

/** What was written, with every default filled in; `value` has no faults. Fields that the table does not name are left out. */
export function completed(value: Readonly<Record<string, unknown>>, fields: Fields): Record<string, unknown> {
  const whole: Record<string, unknown> = {};
  for (const [name, field] of entriesOf(fields)) {
    if (field.kind === 'to_come') continue;
    const given = own(value, name);
    // Null says that nothing is meant: that stays only where the default is something else.
    const written = given === undefined || (given === null && field.default === undefined) ? field.default : given;
    // A default is one object for all; what is read belongs to one request.
    if (written !== undefined) whole[name] = completedValue(written, field);
  }
  return whole;
}

function completedValue(value: unknown, field: Field): unknown {
  if (field.kind === 'list' && Array.isArray(value)) return value.map((item: unknown) => completedValue(item, field.of));
  if (!isPlainObject(value)) return value;
  if (field.kind === 'object') return completed(value, field.fields);
  if (field.kind !== 'variants') return value;
  const { tag, variants } = field;
  const name = value[tag] as string;
  const { name: first, ...others } = completed(value, variants[name]!.fields);
  return { name: first, [tag]: name, ...others };
}

export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function fault(place: Place, reason: FaultReason, expected: string, value: unknown): Fault {
  return faultOf(place, value === undefined ? 'missing' : reason, `${expected}, got ${shown(value)}`);
}

export function faultOf({ pointer, code }: Pick<Place, 'pointer' | 'code'>, reason: FaultReason, detail: string): Fault {
  return { pointer, code: `${code}.${reason}`, detail };
}
