import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { expected } from './variables/variable.js';

/** What a template of a body may name. */
const PLACEHOLDERS = ['type', 'code', 'title', 'status', 'detail', 'requestId', 'retryAfter', 'rule', 'limits'] as const;
export type Placeholder = (typeof PLACEHOLDERS)[number];

/** Null where there is none: not every answer has a rule, and not after every one does waiting help. */
export type TemplateValues = Readonly<Record<Placeholder, string | number | readonly string[] | null>>;

/** The operator's own body of an answer. */
export interface BodyTemplate {
  readonly contentType: string;
  render(values: TemplateValues): string;
}

const CONTENT_TYPES = {
  json: 'application/json',
  xml: 'application/xml',
  html: 'text/html; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
} as const;
export type TemplateKind = keyof typeof CONTENT_TYPES;

const MOST_BYTES = 65_536;
const PLACEHOLDER = /\{\{\s*(\w+)\s*\}\}/g;

type Value = TemplateValues[Placeholder];
type Piece = string | ((values: TemplateValues) => string);

/**
 * Compiles a template, so that whatever a value is, the body stays well-formed: what is put into it is escaped by its kind.
 *
 * @throws Error that says what is wrong with it
 */
export function compileTemplate(text: string, kind: TemplateKind): BodyTemplate {
  for (const [, name] of text.matchAll(PLACEHOLDER)) {
    if (!isPlaceholder(name!)) throw new Error(`{{${name}}} is no placeholder; there are ${PLACEHOLDERS.join(', ')}`);
  }
  if (text.replace(PLACEHOLDER, '').includes('{{')) throw new Error('there is a {{ that begins no placeholder like {{detail}}');
  const pieces = kind === 'json' ? piecesOfJson(text) : piecesOfText(text, kind);
  return {
    contentType: CONTENT_TYPES[kind],
    render: (values) => pieces.map((piece) => (typeof piece === 'string' ? piece : piece(values))).join(''),
  };
}

function isPlaceholder(name: string): name is Placeholder {
  return (PLACEHOLDERS as readonly string[]).includes(name);
}

/** A text that is nothing but a placeholder becomes the value itself: a number, a list, or null. The quote in front of it is none of those within a text, which have a backslash. */
const IN_JSON = /(?<!\\)"\{\{(\w+)\}\}"|\{\{(\w+)\}\}/g;

function piecesOfJson(text: string): Piece[] {
  const parsed: unknown = JSON.parse(text, function (this: unknown, key: string, value: unknown) {
    if (key.includes('{{')) throw new Error(`a name of a member, ${JSON.stringify(key)}, is no place for a placeholder`);
    return value;
  });
  const compact = JSON.stringify(parsed).replace(PLACEHOLDER, '{{$1}}');
  return pieces(compact, IN_JSON, ([, whole, part]) => {
    if (whole !== undefined) return (values) => JSON.stringify(values[whole as Placeholder]);
    return (values) => JSON.stringify(textOf(values[part as Placeholder])).slice(1, -1);
  });
}

/** Comments, elements whose content is code, and tags: what is escaped for text is not safe there. */
const MARKUP =
  /<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<(script|style)\b[\s\S]*?<\/\1\s*>|<(?!(?:script|style)\b)(?:"[^"]*"|'[^']*'|[^'">])*>/gi;

function piecesOfText(text: string, kind: 'xml' | 'html' | 'txt'): Piece[] {
  if (kind !== 'txt') {
    for (const [markup] of text.matchAll(MARKUP)) {
      if (markup.includes('{{')) throw new Error(`a placeholder may only stand in text, and not in ${JSON.stringify(markup.slice(0, 60))}`);
    }
    if (/<[a-z!/?]/i.test(text.replace(MARKUP, ''))) throw new Error('a tag, a comment, a script or a style is not closed');
  }
  const escaped = kind === 'txt' ? withoutControls : escapedMarkup;
  return pieces(
    text,
    PLACEHOLDER,
    ([, name]) =>
      (values) =>
        escaped(textOf(values[name as Placeholder])),
  );
}

function pieces(text: string, pattern: RegExp, piece: (match: RegExpExecArray) => Piece): Piece[] {
  const found: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    found.push(text.slice(end, match.index), piece(match));
    end = match.index + match[0].length;
  }
  return [...found, text.slice(end)];
}

function textOf(value: Value): string {
  if (value === null) return '';
  return typeof value === 'object' ? value.join(', ') : String(value);
}

function withoutControls(text: string): string {
  return text.replace(/\p{Cc}/gu, '');
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escapedMarkup(text: string): string {
  return withoutControls(text).replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/**
 * Reads the template in a file; what it is says its name.
 *
 * @throws ExpectationError
 */
export function templateFile(path: string, kinds: readonly TemplateKind[]): BodyTemplate {
  const kind = kinds.find((each) => extname(path).toLowerCase() === `.${each}`);
  if (kind === undefined) return expected(`the path of a file that ends with ${kinds.map((each) => `.${each}`).join(', ')}`);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return expected(`a file that can be read (${(error as NodeJS.ErrnoException).code ?? 'it cannot'})`);
  }
  if (Buffer.byteLength(text) > MOST_BYTES) return expected(`a file of at most ${MOST_BYTES} bytes`);
  try {
    return compileTemplate(text, kind);
  } catch (error) {
    return expected(`a template in ${kind}, but ${(error as Error).message}`);
  }
}
