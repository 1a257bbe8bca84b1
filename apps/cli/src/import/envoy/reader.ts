import { escapedPointer, isPlainObject, shown } from '#limiter';

/** A JSON pointer into the file. */
export type Place = string;

export interface PlacedFault {
  readonly pointer: Place;
  readonly detail: string;
}

/** So many faults are told; a file of another kind has thousands. */
const MOST_FAULTS = 100;

/**
 * Reads a tree whose scalars are texts, as they are written in the file, and notes what is wrong with it. A value that is wrong reads as something
 * harmless, so that one answer names all faults.
 */
export class Reader {
  readonly #faults: PlacedFault[] = [];

  get faults(): readonly PlacedFault[] {
    return this.#faults;
  }

  /** What is inside of something that is wrong as a whole is not told. */
  fault(pointer: Place, detail: string): void {
    const isInside = this.#faults.some((fault) => pointer.startsWith(`${fault.pointer}/`));
    if (!isInside && this.#faults.length < MOST_FAULTS) this.#faults.push({ pointer, detail });
  }

  object(value: unknown, pointer: Place, known: readonly string[]): Readonly<Record<string, unknown>> {
    if (!isPlainObject(value)) {
      this.fault(pointer, `must be a mapping, got ${shown(value)}`);
      return {};
    }
    for (const name of Object.keys(value).filter((each) => !known.includes(each)))
      this.fault(`${pointer}/${escapedPointer(name)}`, `is not a field that can be translated; known are ${known.join(', ')}`);
    return value;
  }

  /** An empty one if there is none. */
  list(value: unknown, pointer: Place): readonly unknown[] {
    if (value === undefined || value === '') return [];
    if (Array.isArray(value)) return value as unknown[];
    this.fault(pointer, `must be a list, got ${shown(value)}`);
    return [];
  }

  text(value: unknown, pointer: Place, what: string): string {
    if (typeof value === 'string' && value !== '') return value;
    this.fault(pointer, value === undefined || value === '' ? `must be given: ${what}` : `must be a text, got ${shown(value)}`);
    return '';
  }

  /** Nothing there and an empty text are the same. */
  optionalText(value: unknown, pointer: Place): string | undefined {
    return value === undefined || value === '' ? undefined : this.text(value, pointer, '');
  }

  truth(value: unknown, pointer: Place): boolean {
    const isTrue = typeof value === 'string' && /^(?:true|yes|on)$/i.test(value);
    const isFalse = value === undefined || (typeof value === 'string' && /^(?:|false|no|off)$/i.test(value));
    if (!isTrue && !isFalse) this.fault(pointer, `must be true or false, got ${shown(value)}`);
    return isTrue;
  }

  wholeNumber(value: unknown, pointer: Place, { min, max }: { readonly min: number; readonly max: number }): number {
    const number = typeof value === 'string' && /^\d{1,12}$/.test(value) ? Number(value) : NaN;
    if (number >= min && number <= max) return number;
    this.fault(pointer, `must be a whole number from ${min} to ${max}, got ${value === undefined ? 'nothing' : shown(value)}`);
    return min;
  }
}
