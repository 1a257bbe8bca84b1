import { Option } from '@commander-js/extra-typings';
import { notStarted } from './command-error.js';

/** What is wrong with a command line, collected, so that one answer names every fault. */
export class Faults {
  readonly #found: string[] = [];

  add(fault: string): void {
    this.#found.push(fault);
  }

  /** @throws {CommandError} that names all of them */
  demandNone(): void {
    if (this.#found.length > 0) throw notStarted(this.#found.join('\n'));
  }
}

interface Bounds {
  readonly min: number;
  readonly max: number;
}

export interface Range<D> extends Bounds {
  readonly default: D;
}

/** An option for a whole number. A wrong one is a fault and reads as `min`, so that the rest of the line is read, too. */
export function wholeNumber<F extends string>(flags: F, meaning: string, range: Range<number>, faults: Faults) {
  return numeric(flags, meaning, range, faults, { kind: 'whole number', pattern: /^\d{1,12}$/ });
}

/** An option for a number with up to six decimals. */
export function decimal<F extends string>(flags: F, meaning: string, range: Range<number>, faults: Faults) {
  return numeric(flags, meaning, range, faults, { kind: 'number', pattern: /^\d{1,9}(\.\d{1,6})?$/ });
}

function numeric<F extends string>(
  flags: F,
  meaning: string,
  { min, max, default: standard }: Range<number>,
  faults: Faults,
  { kind, pattern }: { readonly kind: string; readonly pattern: RegExp },
) {
  const option = new Option(flags, `${meaning}, ${min} to ${max}`);
  return option.default(standard).argParser((text: string): number => {
    const value = pattern.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return value;
    faults.add(`${option.long} must be a ${kind} from ${min} to ${max}; got ${text || 'nothing'}.`);
    return min;
  });
}

/** The same for an option that may be left out, which is not the same as any number. */
export function optionalWholeNumber<F extends string>(flags: F, meaning: string, { min, max }: Bounds, faults: Faults) {
  const option = new Option(flags, meaning);
  return option.argParser((text: string): number => {
    const value = /^-?\d{1,12}$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return value;
    faults.add(`${option.long} must be a whole number from ${min} to ${max}; got ${text || 'nothing'}.`);
    return min;
  });
}

/** An option for one of some names. */
export function oneOf<F extends string, N extends string>(flags: F, meaning: string, names: readonly N[], standard: N, faults: Faults) {
  const option = new Option(flags, `${meaning}: ${names.join(', ')}`);
  return option.default(standard).argParser((text: string): N => {
    const name = names.find((each) => each === text);
    if (name === undefined) faults.add(`${option.long} must be one of ${names.join(', ')}; got ${text || 'nothing'}.`);
    return name ?? standard;
  });
}

/** An option for some of the names that there are, with commas between; all of them by default. */
export function someOf<F extends string>(flags: F, names: readonly string[], faults: Faults) {
  const option = new Option(flags, `of ${names.join(', ')}`);
  return option.default(names, 'all').argParser((text: string): readonly string[] => {
    const chosen = commaSeparated(text);
    const unknown = chosen.filter((each) => !names.includes(each));
    if (chosen.length === 0 || unknown.length > 0)
      faults.add(`${option.long} must be of ${names.join(', ')}; got ${unknown.join(', ') || 'nothing'}.`);
    return chosen;
  });
}

/** The different names in a text. */
export function commaSeparated(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  return [...new Set(names.filter(Boolean))];
}
