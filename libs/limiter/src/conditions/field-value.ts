/** A value of JSON that is no text. Numbers and texts that look alike are different values. */
export class JsonScalar {
  constructor(
    readonly kind: 'number' | 'truth' | 'object',
    /** Of a number: its value in decimal notation, in one spelling. Of an object nothing is told but that it is there. */
    readonly text: string,
  ) {}
}

export type FieldScalar = string | JsonScalar;

/** What a request has under the name of a field: nothing, one value, or several where it comes more than once. */
export type FieldValue = FieldScalar | readonly FieldScalar[] | undefined;

export function isSeveral(value: FieldValue): value is readonly FieldScalar[] {
  return Array.isArray(value);
}

export function textOf(value: FieldScalar): string {
  return typeof value === 'string' ? value : value.text;
}
