import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { completed, escapedPointer, type Fault, isPlainObject, objectFaults, shown, UNKNOWN_FIELD } from '#limiter';
import { type BodyFieldError, ProblemError } from '#platform';
import { invalidQuery } from './invalid-query.js';
import { isTableDto, type TableDto } from './table-dto.js';

/** The maximum number of faults that one answer names. */
export const MAX_ERRORS = 100;
const MAX_DETAIL_LENGTH = 500;

/** No body of this API is nested deeper, a rule with five levels of conditions within another object included; a deeper one would exhaust the stack of whoever walks it. */
export const MAX_DEPTH = 16;

/**
 * Turns bodies and queries into their DTO, or refuses them with every wrong field. Types are never converted: "10" is
 * not 10. Unknown fields are errors, not ignored: a misspelt one would otherwise be a default nobody asked for.
 */
@Injectable()
export class ValidationPipe implements PipeTransform {
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if ((type !== 'body' && type !== 'query') || !isTableDto(metatype)) return value;
    return validated(value === undefined && metatype.mayBeAbsent === true ? {} : value, metatype, type);
  }
}

/** A body or a query as its DTO, with every default filled in. @throws ProblemError 400 that names every wrong field */
export function validated<T extends object>(value: unknown, dto: TableDto<T>, type: 'body' | 'query' = 'body'): T {
  const object = jsonObject(value);
  const { fields, code } = dto;
  const odd = oddities(object, '', MAX_DEPTH, code).slice(0, MAX_ERRORS);
  const found = odd.length > 0 ? odd : objectFaults(object, fields, { pointer: '', code });
  const whole = found.length > 0 ? undefined : Object.assign(new dto(), completed(object, fields));
  const faults = (whole === undefined ? found : (dto.faultsOf?.(whole) ?? [])).slice(0, MAX_ERRORS);
  if (whole === undefined || faults.length > 0) throw type === 'body' ? badBody(faults) : badQuery(faults);
  return whole;
}

/** @throws ProblemError 400 */
export function jsonObject(value: unknown): Readonly<Record<string, unknown>> {
  if (isPlainObject(value)) return value;
  throw new ProblemError({ status: 400, code: 'body.wrong_type', detail: `the body must be a JSON object, got ${shown(value)}` });
}

/** What cannot be looked up or walked: names that every object inherits, and depth. */
export function oddities(value: unknown, pointer: string, depth: number, code: string): Fault[] {
  return isOdd(value, depth) ? odditiesIn(value, pointer, depth, code) : [];
}

/** Hardly anything is: only then it is said where. */
function isOdd(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  if (Array.isArray(value)) return value.some((below) => isOdd(below, depth - 1));
  return Object.keys(value).some(
    (property) => property in Object.prototype || isOdd((value as Readonly<Record<string, unknown>>)[property], depth - 1),
  );
}

function odditiesIn(value: unknown, pointer: string, depth: number, code: string): Fault[] {
  if (typeof value !== 'object' || value === null) return [];
  if (depth === 0) return [{ pointer, code: `${code}.nested_too_deeply`, detail: 'is nested too deeply' }];
  return Object.entries(value).flatMap(([property, below]) => {
    const at = `${pointer}/${escapedPointer(property)}`;
    return property in Object.prototype
      ? [{ pointer: at, code: `${code}.unknown_field`, detail: UNKNOWN_FIELD }]
      : odditiesIn(below, at, depth - 1, code);
  });
}

function bodyError({ pointer, code, detail }: Fault): BodyFieldError {
  return { pointer, code, detail: detail.slice(0, MAX_DETAIL_LENGTH) };
}

/** A body with wrong fields. */
export function badBody(faults: readonly Fault[]): ProblemError {
  const errors = faults.map(bodyError);
  const detail = errors.length === 1 ? 'a field of the body is wrong' : `${errors.length} fields of the body are wrong`;
  return new ProblemError({ status: 400, type: 'invalid-body', code: 'body.invalid', detail, errors });
}

function badQuery(faults: readonly Fault[]): ProblemError {
  return invalidQuery(faults.map(({ pointer, code, detail }) => ({ parameter: pointer.slice(1), code, detail })));
}
