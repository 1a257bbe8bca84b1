import type { BodyFacts } from '../body/json-body.js';
import type { AnswerFacts, Descriptor } from '../matching/descriptor.js';
import { pathSegments } from '../matching/path-pattern.js';
import { addressPrefix } from './address-range.js';
import { claimOf, type Claims, claimTexts, parsedClaims } from './claim.js';
import { type FieldValue, JsonScalar } from './field-value.js';

/** A field of a request that rules can look at. Two that mean the same field are one: names of headers have no case. */
export interface RequestField {
  /** In its one spelling. */
  readonly name: string;
  /** Whether a client may write anything there: what is long or secret stands in no bucket key. */
  readonly isFree: boolean;
  readonly read: (request: AskedFields) => FieldValue;
  /** Whether nobody knows what is there: then it reads as absent. */
  readonly isUnknown?: ((request: AskedFields) => boolean) | undefined;
}

/** Where fields are read from: what is taken apart once serves all fields of a request. */
export class AskedFields {
  private query: URLSearchParams | undefined;
  private cookies: readonly (readonly [string, string])[] | undefined;
  private claims: Claims | undefined;
  private values: Map<string, FieldValue> | undefined;

  constructor(
    readonly descriptor: Descriptor,
    /** Once there is one, or there will be none. */
    readonly answer: AnswerFacts = NO_ANSWER,
  ) {}

  valueOf(field: RequestField): FieldValue {
    const { name } = field;
    this.values ??= new Map();
    const known = this.values.get(name);
    if (known !== undefined || this.values.has(name)) return known;
    const value = field.read(this);
    this.values.set(name, value);
    return value;
  }

  /** As WHATWG's URL standard reads it, which is how forms are read: `+` is a space, and bytes that are not UTF-8 become U+FFFD. */
  queryValues(name: string): readonly string[] {
    const { target } = this.descriptor;
    const at = target.indexOf('?');
    if (at === -1) return [];
    this.query ??= new URLSearchParams(target.slice(at + 1));
    return this.query.getAll(name);
  }

  claim(name: string): readonly string[] {
    const { jwt } = this.descriptor;
    return jwt === undefined ? [] : claimTexts(claimOf((this.claims ??= parsedClaims(jwt)), name));
  }

  /** As RFC 6265 reads them: nothing is decoded, quotes are part of the value, and names have case. */
  cookieValues(name: string): readonly string[] {
    this.cookies ??= (this.descriptor.more?.headerValues('cookie') ?? []).flatMap(cookiesIn);
    return this.cookies.filter(([each]) => each === name).map(([, value]) => value);
  }
}

const NO_ANSWER: AnswerFacts = {};

function cookiesIn(line: string): (readonly [string, string])[] {
  return line.split(';').map((pair) => {
    const at = pair.indexOf('=');
    return at === -1 ? [pair.trim(), ''] : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
  });
}

/** Fields that have no name of the writer's in theirs. */
const PLAIN_FIELDS: Readonly<Record<string, RequestField['read']>> = {
  merchant: ({ descriptor }) => descriptor.merchantId,
  user: ({ descriptor }) => descriptor.user,
  apiKey: ({ descriptor }) => descriptor.apiKey?.id,
  ip: ({ descriptor }) => descriptor.ip,
  'ip.prefix': ({ descriptor }) => addressPrefix(descriptor.ip),
  country: ({ descriptor }) => descriptor.more?.country,
  method: ({ descriptor }) => descriptor.method,
  path: ({ descriptor: { target, ignorePathCase } }) => `/${pathSegments(target, ignorePathCase).join('/')}`,
  host: ({ descriptor }) => hostOf(descriptor.more?.hostName),
};

/** What clients write as they like. */
const FREE_FIELDS = new Set(['path', 'host']);

/** Fields of which there is one for each name behind the prefix. */
const NAMED_FIELDS: Readonly<Record<string, (name: string) => RequestField['read']>> = {
  'apiKey.label.': (name) => (request) => labelOf(request.descriptor, name),
  'header.': (name) => (request) => valueOf(request.descriptor.more?.headerValues(name) ?? []),
  'query.': (name) => (request) => valueOf(request.queryValues(name)),
  'cookie.': (name) => (request) => valueOf(request.cookieValues(name)),
  'body.': (path) => (request) => request.descriptor.more?.body?.valueOf(path),
  'jwt.': (name) => (request) => valueOf(request.claim(name)),
  'response.header.': (name) => (request) => valueOf(request.answer.head?.headerValues(name) ?? []),
  'response.body.': (path) => (request) => request.answer.body?.valueOf(path),
};

/** What may be there without being known, by the same beginnings of names. */
const UNKNOWN: Readonly<Record<string, RequestField['isUnknown']>> = {
  'body.': ({ descriptor }) => isUnreadable(descriptor.more?.body),
  'response.header.': ({ answer }) => answer.head === undefined,
  'response.body.': ({ answer }) => answer.body === undefined || isUnreadable(answer.body),
};

function isUnreadable(body: BodyFacts | undefined): boolean {
  return body?.unreadable !== undefined;
}

const STATUS: RequestField = {
  name: 'response.status',
  isFree: false,
  read: ({ answer }) => (answer.head === undefined ? undefined : new JsonScalar('number', String(answer.head.status))),
  isUnknown: ({ answer }) => answer.head === undefined,
};

const MAX_NAME_LENGTH = 64;
/** RFC 9110: names of headers, and by RFC 6265 those of cookies too. */
const TOKEN = "[A-Za-z0-9!#$%&'*+.^_`|~-]";

/** Names of members of JSON, separated by dots. */
const PATH = `(?:\\.[^.\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]{1,${MAX_NAME_LENGTH}}){1,8}`;

/** The names of all fields that rules may look at when a request comes. */
export const FIELD_PATTERN =
  '^(?:merchant|user|apiKey|ip|ip\\.prefix|country|method|path|host|apiKey\\.label\\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?|' +
  `header\\.(?![Hh][Oo][Ss][Tt]$)${TOKEN}{1,${MAX_NAME_LENGTH}}|cookie\\.${TOKEN}{1,${MAX_NAME_LENGTH}}|` +
  `jwt\\.[!-~]{1,${MAX_NAME_LENGTH}}|` +
  `query\\.[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]{1,${MAX_NAME_LENGTH}}|body${PATH})$`;
const FIELD = new RegExp(FIELD_PATTERN);

export const FIELD_EXPECTED =
  `must be one of ${Object.keys(PLAIN_FIELDS).join(', ')}, or header.NAME, query.NAME, cookie.NAME, jwt.CLAIM or apiKey.label.NAME ` +
  `with a name of at most ${MAX_NAME_LENGTH} characters, or body.PATH`;

/** The names of all fields that rules may look at when the upstream has answered. */
export const ANSWER_FIELD_PATTERN = `^response\\.(?:status|header\\.${TOKEN}{1,${MAX_NAME_LENGTH}}|body${PATH})$`;
const ANSWER_FIELD = new RegExp(ANSWER_FIELD_PATTERN);

export const ANSWER_FIELD_EXPECTED = 'must be one of response.status, response.header.NAME or response.body.PATH';

export function isAnswerFieldName(name: string): boolean {
  return ANSWER_FIELD.test(name);
}

/** Whether a field is in the body of the request. */
export function isBodyField(name: string): boolean {
  return name.startsWith('body.');
}

/** Whether a field is in the body of the answer. */
export function isAnswerBodyField(name: string): boolean {
  return name.startsWith('response.body.');
}

export function isFieldName(name: string): boolean {
  return FIELD.test(name);
}

/** Whether a field follows from the address of the client. */
export function isAddressField(name: string): boolean {
  return name === 'ip' || name === 'ip.prefix';
}

/** The one spelling of the name of a field. */
export function canonicalField(name: string): string {
  return name.startsWith('header.') || name.startsWith('response.header.') ? name.toLowerCase() : name;
}

/** @param written the name of a field, see `isFieldName` and `isAnswerFieldName` */
export function requestField(written: string): RequestField {
  const name = canonicalField(written);
  const plain = Object.hasOwn(PLAIN_FIELDS, name) ? PLAIN_FIELDS[name] : undefined;
  if (plain !== undefined) return { name, isFree: FREE_FIELDS.has(name), read: plain };
  if (name === STATUS.name) return STATUS;
  const [prefix, readerOf] = Object.entries(NAMED_FIELDS).find(([each]) => name.startsWith(each)) ?? [];
  if (readerOf === undefined) throw new Error(`${JSON.stringify(written)} is no field of a request`);
  return { name, isFree: true, read: readerOf(name.slice(prefix!.length)), isUnknown: UNKNOWN[prefix!] };
}

function valueOf(values: readonly string[]): FieldValue {
  return values.length > 1 ? values : values[0];
}

function labelOf({ apiKey }: Descriptor, name: string): string | undefined {
  const labels = apiKey?.labels;
  return labels !== undefined && Object.hasOwn(labels, name) ? labels[name] : undefined;
}

/** Small letters, without the port and a dot at the end: otherwise one host would have many spellings. */
function hostOf(written: string | undefined): string | undefined {
  if (written === undefined || written === '') return undefined;
  const port = written.lastIndexOf(':');
  const name = port > written.lastIndexOf(']') ? written.slice(0, port) : written;
  return (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase();
}
