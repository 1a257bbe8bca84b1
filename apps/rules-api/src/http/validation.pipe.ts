import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { validateSync, type ValidationError } from 'class-validator';
import { type BodyFieldError, ProblemError } from '#platform';
import { faultsOf, isPlainObject, shown } from './field-rules.js';

const UNKNOWN_FIELD = 'is not a field that is known here';
const MAX_ERRORS = 100;
const MAX_DETAIL_LENGTH = 500;

/** No body of this API is nested deeper; a deeper one would exhaust the stack of whoever walks it. */
const MAX_DEPTH = 8;

/**
 * Turns bodies and queries into their DTO, or refuses them with every wrong field. Types are never converted: "10" is
 * not 10. Unknown fields are errors, not ignored: a misspelt one would otherwise be a default nobody asked for.
 */
@Injectable()
export class ValidationPipe implements PipeTransform {
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if ((type !== 'body' && type !== 'query') || !metatype) return value;
    if (!isPlainObject(value)) {
      throw new ProblemError({ status: 400, detail: `the body must be a JSON object, got ${shown(value)}` });
    }
    const odd = oddities(value, '', MAX_DEPTH).slice(0, MAX_ERRORS);
    if (odd.length > 0) throw type === 'body' ? badBody(odd) : badQuery(odd);
    const dto = plainToInstance(metatype as Type<object>, value);
    const faults = validateSync(dto, { whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: true })
      .flatMap((error) => fieldErrors(error, ''))
      .slice(0, MAX_ERRORS);
    if (faults.length > 0) throw type === 'body' ? badBody(faults) : badQuery(faults);
    return dto;
  }
}

/** What class-validator does not see, or does not survive: names that every object inherits, and depth. */
function oddities(value: unknown, pointer: string, depth: number): BodyFieldError[] {
  if (typeof value !== 'object' || value === null) return [];
  if (depth === 0) return [{ pointer, detail: 'is nested too deeply' }];
  return Object.entries(value).flatMap(([property, below]) => {
    const at = `${pointer}/${escaped(property)}`;
    return property in Object.prototype ? [{ pointer: at, detail: UNKNOWN_FIELD }] : oddities(below, at, depth - 1);
  });
}

function badBody(errors: BodyFieldError[]): ProblemError {
  const detail = errors.length === 1 ? 'a field of the body is wrong' : `${errors.length} fields of the body are wrong`;
  return new ProblemError({ status: 400, detail, errors });
}

function badQuery(errors: BodyFieldError[]): ProblemError {
  return new ProblemError({
    status: 400,
    detail: 'the query is wrong',
    errors: errors.map(({ pointer, detail }) => ({ parameter: pointer.slice(1), detail })),
  });
}

function fieldErrors(error: ValidationError, parent: string): BodyFieldError[] {
  // A value below that is no DTO has no property; the check of the field above it says what is wrong.
  if ((error.property as string | undefined) === undefined) return [];
  const pointer = `${parent}/${escaped(error.property)}`;
  const { constraints = {}, children = [] } = error;
  const faults = faultsOf(constraints);
  const own = faults
    ? faults.map(({ at, detail }) => ({ pointer: pointer + at, detail: detail.slice(0, MAX_DETAIL_LENGTH) }))
    : 'whitelistValidation' in constraints
      ? [{ pointer, detail: UNKNOWN_FIELD }]
      : [];
  const below = children.flatMap((child) => fieldErrors(child, pointer));
  // Where a thing is no object or list at all, what it lacks below is no news.
  const isNews = (each: BodyFieldError) =>
    !own.some((other) => each.pointer === other.pointer || each.pointer.startsWith(`${other.pointer}/`));
  return [...own, ...below.filter(isNews)];
}

/** RFC 6901. Names of unknown fields are the caller's and may be anything. */
function escaped(property: string): string {
  return property.slice(0, MAX_DETAIL_LENGTH).replaceAll('~', '~0').replaceAll('/', '~1');
}
