import { escapedPointer, type Fault, type Fields, objectFaults, type SpecOf } from '#limiter';
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
  return objectFaults(object, fields, { pointer, code: CODE });
}

const CODE = 'check';

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
