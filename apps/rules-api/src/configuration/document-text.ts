import { createHash } from 'node:crypto';
import { isPlainObject } from '#limiter';
import { jsonBytes, ProblemError, repeated, repeatedName } from '#platform';

/** The lists of a document that may be long. */
const LONG_LISTS = ['plans', 'merchants'] as const;
type LongList = (typeof LONG_LISTS)[number];

/** The items of a list, each read when somebody asks for it. */
export interface DocumentItems {
  readonly length: number;
  /** @throws ProblemError 400 if it is no JSON */
  at(i: number): unknown;
}

/**
 * A document whose long lists are not in memory as objects. Of JSON only the text is kept, with the places of the items: an object takes ten times as much
 * as its text. Nothing else is known of the items before they are read.
 */
export class DocumentText {
  private constructor(
    /** The document with empty lists in place of its long ones. */
    readonly root: unknown,
    private readonly lists: Readonly<Record<LongList, DocumentItems>>,
    /** What was read. */
    private readonly source: unknown,
  ) {}

  /** @throws ProblemError 400 if it is not JSON, as far as that is seen without reading the items */
  static ofJson(body: Buffer): DocumentText {
    const bytes = jsonBytes(body);
    const scanner = new Scanner(bytes);
    scanner.scan();
    const root = parsed(scanner.rest());
    const items = (name: LongList): DocumentItems => {
      const { starts, ends } = scanner.places[name];
      return { length: starts.length, at: (i) => parsed(bytes.toString('utf8', starts[i], ends[i]), `/${name}/${i}`) };
    };
    return new DocumentText(root, { plans: items('plans'), merchants: items('merchants') }, bytes);
  }

  /** What was read from something else than JSON. */
  static ofValue(value: unknown): DocumentText {
    const lists: Record<LongList, DocumentItems> = { plans: [], merchants: [] };
    if (!isPlainObject(value)) return new DocumentText(value, lists, value);
    const root: Record<string, unknown> = { ...value };
    for (const name of LONG_LISTS) {
      const list = value[name];
      if (Array.isArray(list)) [lists[name], root[name]] = [list, []];
    }
    return new DocumentText(root, lists, value);
  }

  /** The field of the body that says why it is applied. */
  get reason(): unknown {
    return isPlainObject(this.root) ? this.root['reason'] : undefined;
  }

  items(name: LongList): DocumentItems {
    return this.lists[name];
  }

  /** What stands for it where requests are compared: the same for the same text only. */
  toJSON(): unknown {
    return Buffer.isBuffer(this.source) ? createHash('sha256').update(this.source).digest('hex') : this.source;
  }
}

/** @param place of the text in the document, as a JSON Pointer */
function parsed(text: string, place = ''): unknown {
  const value = valueOf(text);
  const fault = repeatedName(text, place);
  if (fault) throw fault;
  return value;
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const detail = `the body is not valid JSON: ${(error as Error).message}`;
    throw new ProblemError({ status: 400, code: 'body.malformed', detail }, { cause: error });
  }
}

/** Where the items of a list are. */
class Places {
  isFound = false;
  readonly starts: number[] = [];
  readonly ends: number[] = [];
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const SPACE = 0x20;

/**
 * Finds the items of the long lists in the text of an object. It relies on nothing: the text is JSON if, and only if, the items are, and what is left without
 * them is, because an empty list may stand wherever a list may.
 */
class Scanner {
  readonly places: Readonly<Record<LongList, Places>> = { plans: new Places(), merchants: new Places() };
  /** From where to where the text is not part of an item. */
  private readonly kept: [from: number, to: number][] = [];
  private keptFrom = 0;
  private at = 0;
  private level = 0;
  private list: Places | undefined;
  private itemFrom = 0;
  /** The last text in the object itself, which is a name if a colon follows. */
  private text: [from: number, to: number] = [0, 0];
  private name: string | undefined;

  constructor(private readonly bytes: Buffer) {}

  scan(): void {
    for (const { bytes } = this; this.at < bytes.length; this.at++) this.take(bytes[this.at]!);
    const { length } = this.bytes;
    this.kept.push([this.list ? length : this.keptFrom, length]);
  }

  /** The text without the items. */
  rest(): string {
    return this.kept.map(([from, to]) => this.bytes.toString('utf8', from, to)).join('');
  }

  private take(byte: number): void {
    if (byte === QUOTE) this.passText();
    else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) this.open(byte);
    else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) this.close();
    else if (byte === COMMA && this.level === 2 && this.list) this.endItem(this.list);
    else if (byte === COLON && this.level === 1) this.beginMember();
    else if (byte === COMMA && this.level === 1) this.name = undefined;
  }

  private passText(): void {
    const { bytes } = this;
    const from = this.at++;
    while (this.at < bytes.length && bytes[this.at] !== QUOTE) this.at += bytes[this.at] === BACKSLASH ? 2 : 1;
    if (this.level === 1) this.text = [from, this.at + 1];
  }

  private beginMember(): void {
    this.name = this.nameHere();
    const second = LONG_LISTS.find((each) => each === this.name && this.places[each].isFound);
    if (second !== undefined) throw repeated(second, `/${second}`);
  }

  private nameHere(): string | undefined {
    try {
      return JSON.parse(this.bytes.toString('utf8', ...this.text)) as string;
    } catch {
      return undefined;
    }
  }

  private open(byte: number): void {
    this.level++;
    if (this.level !== 2 || byte !== OPENING_BRACKET) return;
    const found = LONG_LISTS.find((each) => each === this.name);
    if (found === undefined) return;
    this.list = this.places[found];
    this.list.isFound = true;
    this.itemFrom = this.at + 1;
    this.kept.push([this.keptFrom, this.itemFrom]);
  }

  private close(): void {
    if (this.level === 2 && this.list) {
      if (this.list.starts.length > 0 || !this.isBlank()) this.endItem(this.list);
      this.list = undefined;
      this.keptFrom = this.at;
    }
    this.level--;
  }

  private endItem({ starts, ends }: Places): void {
    starts.push(this.itemFrom);
    ends.push(this.at);
    this.itemFrom = this.at + 1;
  }

  private isBlank(): boolean {
    for (let at = this.itemFrom; at < this.at; at++) if (this.bytes[at]! > SPACE) return false;
    return true;
  }
}
