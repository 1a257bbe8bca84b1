import { escapedPointer, type Fault, type Fields, isPlainObject, objectFaults, type SpecOf } from '#limiter';
import { ProblemError } from '#platform';
import { isPlainlyValid } from './plainly-valid.js';

/** Faults that one answer names at most. */
const MOST_ERRORS = 100;
const MOST_DETAIL_CHARACTERS = 500;

type JsonObject = Readonly<Record<string, unknown>>;

/** @param pointer where the object stands in the body @throws ProblemError 400 that names every wrong field */
export function validObject<F extends Fields>(object: JsonObject, fields: F, pointer = ''): SpecOf<F> {
  if (isPlainlyValid(object, fields)) return object as SpecOf<F>;
  const faults = faultsOf(object, fields, pointer);
  if (faults.length > 0) throw badBody(faults);
  return object as SpecOf<F>;
}

export function faultsOf(object: JsonObject, fields: Fields, pointer: string): readonly Fault[] {
  const crowded = crowdedFault(object, pointer) ?? crowdedBelow(object, fields, pointer);
  return crowded === undefined ? objectFaults(object, fields, { pointer, code: CODE }) : [crowded];
}

const CODE = 'check';

/** Several times as many as any of our objects has. For each one that is not known a similar name is sought, and a body has room for thousands. */
const MOST_MEMBERS = 100;

function crowdedFault(object: JsonObject, pointer: string): Fault | undefined {
  let members = 0;
  for (const _ in object)
    if (++members > MOST_MEMBERS) return { pointer, code: `${CODE}.unknown_field`, detail: `has more than ${MOST_MEMBERS} fields` };
  return undefined;
}

function crowdedBelow(object: JsonObject, fields: Fields, pointer: string): Fault | undefined {
  for (const [name, { kind }] of Object.entries(fields)) {
    const value = kind === 'object' && Object.hasOwn(object, name) ? object[name] : undefined;
    const fault = isPlainObject(value) ? crowdedFault(value, `${pointer}/${name}`) : undefined;
    if (fault !== undefined) return fault;
  }
  return undefined;
}

export function badBody(faults: readonly Fault[]): ProblemError {
  const errors = faults
    .slice(0, MOST_ERRORS)
    .map(({ pointer, code, detail }) => ({ pointer, code, detail: detail.slice(0, MOST_DETAIL_CHARACTERS) }));
  const detail = errors.length === 1 ? 'a field of the body is wrong' : `${errors.length} fields of the body are wrong`;
  return new ProblemError({ status: 400, type: 'invalid-body', code: 'body.invalid', detail, errors });
}

/** The only parameters of a query that a call has. @throws ProblemError 400 */
export function demandKnown(query: URLSearchParams, known: readonly string[]): void {
  const errors = [...new Set(query.keys())]
    .filter((name) => !known.includes(name))
    .slice(0, MOST_ERRORS)
    .map((name) => ({ parameter: escapedPointer(name), code: 'query.unknown_parameter', detail: 'is no parameter of this call' }));
  if (errors.length > 0) throw badQuery(errors);
}

/** @throws ProblemError 400 */
export function truthIn(query: URLSearchParams, name: string): boolean {
  const values = query.getAll(name);
  if (values.length === 0) return false;
  if (values.length === 1 && (values[0] === 'true' || values[0] === 'false')) return values[0] === 'true';
  throw badQuery([{ parameter: name, code: `query.${name}.malformed`, detail: 'must be true or false, once' }]);
}

function badQuery(errors: readonly { parameter: string; code: string; detail: string }[]): ProblemError {
  return new ProblemError({
    status: 400,
    type: 'invalid-query',
    code: 'query.invalid',
    detail: 'a parameter of the query is wrong',
    errors,
  });
}
