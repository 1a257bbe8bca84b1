import { decimalOfJson, decimalText } from '../conditions/decimal.js';
import { type FieldScalar, type FieldValue, JsonScalar } from '../conditions/field-value.js';

/** Why nothing can be read in a body that is there. */
export const UNREADABLE_BODIES = {
  too_large: 'is larger than 64 KiB',
  other_type: 'is not declared as JSON in UTF-8',
  encoded: 'is compressed',
  broken: 'is no JSON, or nested deeper than 64 levels',
  incomplete: 'has not come whole',
} as const;
export type UnreadableBody = keyof typeof UNREADABLE_BODIES;

/** A body is read up to so many bytes. */
export const MOST_BODY_BYTES = 64 * 1024;
/** Levels of arrays and objects. */
const MOST_LEVELS = 64;

/** What can be read in the body of a request, or of an answer. */
export interface BodyFacts {
  /** Undefined: it could be read, or there is none. */
  readonly unreadable?: UnreadableBody | undefined;
  /** @param path names of members, separated by dots */
  valueOf(path: string): FieldValue;
}

/** There is none, so its fields are absent. */
export const NO_BODY: BodyFacts = { valueOf: () => undefined };

export function unreadableBody(unreadable: UnreadableBody): BodyFacts {
  return { unreadable, valueOf: () => undefined };
}

/** @param bytes of a body that is declared as JSON */
export function readBody(bytes: Uint8Array): BodyFacts {
  if (bytes.length === 0) return NO_BODY;
  if (bytes.length > MOST_BODY_BYTES) return unreadableBody('too_large');
  try {
    // Without the mark that some writers put in front; what is no UTF-8 is no JSON.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return bodyOfText(text);
  } catch {
    return unreadableBody('broken');
  }
}

/** @param text of a body that is declared as JSON */
export function bodyOfText(text: string): BodyFacts {
  // Asked first: to parse text of ten thousand levels takes long.
  if (isTooDeep(text)) return unreadableBody('broken');
  try {
    // The parser of the platform says whether it is JSON; what follows only finds its way through text of which that is known.
    JSON.parse(text);
    return new JsonBody(new JsonReader(text).read());
  } catch {
    return unreadableBody('broken');
  }
}

function isTooDeep(text: string): boolean {
  let level = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) {
      at = endOfString(text, at) - 1;
    } else if (char === OPENING_BRACKET || char === OPENING_BRACE) {
      if (++level > MOST_LEVELS) return true;
    } else if (char === CLOSING_BRACKET || char === CLOSING_BRACE) {
      level--;
    }
  }
  return false;
}

/** Behind the quote that ends a string, or behind the text. @param start of its first quote */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** Null stands for absence. */
type JsonNode = FieldScalar | WrittenNumber | null | readonly JsonNode[] | JsonMembers;

/** A number as it is written. Few are ever looked at. */
class WrittenNumber {
  constructor(readonly text: string) {}
}

/** By name: one that comes more than once has several values, because upstreams take the first or the last of them. */
class JsonMembers {
  readonly byName = new Map<string, JsonNode[]>();

  add(name: string, node: JsonNode): void {
    const known = this.byName.get(name);
    if (known === undefined) this.byName.set(name, [node]);
    else known.push(node);
  }
}

class JsonBody implements BodyFacts {
  private readonly known = new Map<string, FieldValue>();

  constructor(private readonly root: JsonNode) {}

  valueOf(path: string): FieldValue {
    if (this.known.has(path)) return this.known.get(path);
    const found: FieldScalar[] = [];
    const isThere = collect([this.root], path.split('.'), 0, found);
    const value = !isThere ? undefined : found.length === 1 ? found[0] : found;
    this.known.set(path, value);
    return value;
  }
}

/** Collects the values at a path, in all items of arrays on the way. @returns whether there is anything, be it an empty array */
function collect(nodes: readonly JsonNode[], path: readonly string[], at: number, found: FieldScalar[]): boolean {
  let isThere = false;
  for (const node of nodes) {
    if (node === null) continue;
    if (Array.isArray(node)) {
      const isAny = collect(node as readonly JsonNode[], path, at, found);
      isThere ||= isAny || at === path.length;
    } else if (at < path.length) {
      const members = node instanceof JsonMembers ? node.byName.get(path[at]!) : undefined;
      if (members !== undefined && collect(members, path, at + 1, found)) isThere = true;
    } else {
      found.push(scalarOf(node as Exclude<typeof node, readonly JsonNode[]>));
      isThere = true;
    }
  }
  return isThere;
}

function scalarOf(node: FieldScalar | WrittenNumber | JsonMembers): FieldScalar {
  if (node instanceof JsonMembers) return OBJECT;
  if (node instanceof WrittenNumber) return new JsonScalar('number', decimalText(decimalOfJson(node.text)));
  return typeof node === 'string' ? copied(node) : node;
}

/** A text of its own: a slice would keep the whole body in memory for as long as somebody remembers the value. */
function copied(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}

const OBJECT = new JsonScalar('object', '');
const TRUE = new JsonScalar('truth', 'true');
const FALSE = new JsonScalar('truth', 'false');

/** Reads text that is known to be JSON: it keeps numbers as they are written and names that come more than once, which JSON.parse does not. */
class JsonReader {
  private at = 0;

  constructor(private readonly text: string) {}

  read(): JsonNode {
    const char = this.next();
    if (char === '{') return this.object();
    if (char === '[') return this.array();
    return char === '"' ? this.string() : this.word();
  }

  /** The next character that is not a space. It is not passed. */
  private next(): string {
    while (this.text.charCodeAt(this.at) <= SPACE) this.at++;
    return this.text[this.at]!;
  }

  private object(): JsonMembers {
    const members = new JsonMembers();
    this.at++;
    while (this.next() !== '}') {
      if (this.next() === ',') this.at++;
      this.next();
      const name = this.string();
      this.next();
      this.at++;
      members.add(name, this.read());
    }
    this.at++;
    return members;
  }

  private array(): JsonNode[] {
    const items: JsonNode[] = [];
    this.at++;
    while (this.next() !== ']') {
      if (this.next() === ',') this.at++;
      items.push(this.read());
    }
    this.at++;
    return items;
  }

  private string(): string {
    const start = this.at;
    this.at = endOfString(this.text, start);
    const written = this.text.slice(start + 1, this.at - 1);
    return written.includes('\\') ? (JSON.parse(`"${written}"`) as string) : written;
  }

  private word(): JsonNode {
    const start = this.at;
    while (this.at < this.text.length && !endsWord(this.text.charCodeAt(this.at))) this.at++;
    const word = this.text.slice(start, this.at);
    if (word === 'null') return null;
    if (word === 'true') return TRUE;
    return word === 'false' ? FALSE : new WrittenNumber(word);
  }
}

function endsWord(char: number): boolean {
  return char <= SPACE || char === COMMA || char === CLOSING_BRACKET || char === CLOSING_BRACE;
}

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
