import { ProblemError } from './problem.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** An object or a list that is not at its end yet. */
interface Open {
  /** Those that were met; undefined for a list. */
  readonly names: Set<string> | undefined;
  /** Of the member, or the place of the item, that is being read. */
  at: string | number;
  expectsName: boolean;
}

/**
 * What is wrong with JSON in which an object has a name twice: JSON.parse takes the last of both, and whoever reads, logs or approves the same text may take
 * the first.
 *
 * @param text of which it is known that it is JSON
 * @param place of the text in the body, as a JSON Pointer
 * @returns a problem with status 400; undefined: each name stands once
 */
export function repeatedName(text: string, place = ''): ProblemError | undefined {
  const open: Open[] = [];
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    const inner = open.at(-1);
    if (char === QUOTE) {
      const from = i;
      i = endOfText(text, from);
      if (inner?.expectsName && isRepeated(JSON.parse(text.slice(from, i + 1)) as string, inner))
        return repeated(
          String(inner.at),
          place + open.map(({ at }) => `/${String(at).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
        );
    } else if (char === OPENING_BRACE) open.push({ names: new Set(), at: '', expectsName: true });
    else if (char === OPENING_BRACKET) open.push({ names: undefined, at: 0, expectsName: false });
    else if (char === CLOSING_BRACE || char === CLOSING_BRACKET) open.pop();
    else if (inner !== undefined && char === COMMA) {
      if (typeof inner.at === 'number') inner.at++;
      else inner.expectsName = true;
    }
  }
  return undefined;
}

/** The quote that ends a text. @param from its first quote */
function endOfText(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

/** Takes the name of the member that begins. */
function isRepeated(name: string, inner: Open): boolean {
  const isKnown = inner.names?.has(name) ?? false;
  inner.names?.add(name);
  inner.at = name;
  inner.expectsName = false;
  return isKnown;
}

/** @param pointer to the second one */
export function repeated(name: string, pointer: string): ProblemError {
  const code = 'body.name_repeated';
  const detail = `the body has the name ${JSON.stringify(name)} twice in one object`;
  return new ProblemError({ status: 400, code, detail, errors: [{ pointer, code, detail: 'stands twice in its object: expected once' }] });
}
