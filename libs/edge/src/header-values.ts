import { isUtf8 } from 'node:buffer';

/**
 * The values of a header, one for each line, as texts.
 *
 * @param list names and values alternating, as Node decodes them: each byte a character
 * @param name in lower case
 */
export function headerValues(list: readonly string[], name: string): readonly string[] {
  return rawValues(list, name).map(textOf);
}

/** The same, undecoded. */
export function rawValues(list: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < list.length; i += 2) {
    const listed = list[i]!;
    if (listed.length === name.length && listed.toLowerCase() === name) values.push(list[i + 1]!);
  }
  return values;
}

/** The bytes as UTF-8, and those that are none as Latin-1, which is what a header was before: all that is forwarded can be matched. */
function textOf(latin1: string): string {
  for (let i = 0; i < latin1.length; i++) {
    if (latin1.charCodeAt(i) > 0x7f) {
      const bytes = Buffer.from(latin1, 'latin1');
      return isUtf8(bytes) ? bytes.toString('utf8') : latin1;
    }
  }
  return latin1;
}
