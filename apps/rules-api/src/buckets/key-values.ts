import { isIP } from 'node:net';
import { canonicalAddress } from '#addresses';
import {
  canonicalField,
  type CustomField,
  describedBy,
  type Descriptor,
  digestOf,
  escapedPointer,
  type Fault,
  FIELD_NAME,
  isClaimField,
  isPlainObject,
  keyPartOf,
  type KeyPart,
  type NamedValue,
  type Place,
  requestField,
  shown,
  type TextFormat,
} from '#limiter';
import { HTTP_METHOD } from '../http/text-formats.js';

/** As long as a header that gateways let pass. */
const MOST_VALUE_CHARACTERS = 8_192;
/** A key has no more parts; of the keys of several rules a query may name all. */
const MOST_PARTS = 64;
/** Values of a list in a body or a token. */
const MOST_VALUES = 100;
/** So many digits of a number survive being read; with more of them the bucket of another number would be named. */
const MOST_DIGITS = 15;

/** Parts of keys as an operator names them: what a request has there, or null for a request that does not have it. */
export type WrittenParts = Readonly<Record<string, NamedValue | null>>;

const EXAMPLE = { 'header.x-device-id': 'abc' };
const VALUE_EXPECTED = `must be a text of at most ${MOST_VALUE_CHARACTERS} characters, or null for a request without it`;

/** What tells a bucket from others of its rule, beside the merchant. */
export const KEY_PARTS: CustomField<WrittenParts> = {
  kind: 'custom',
  check: (value, place) => partsFaults(value, place),
  schema: {
    type: 'object',
    additionalProperties: {
      anyOf: [
        { type: 'string', maxLength: MOST_VALUE_CHARACTERS },
        { type: 'number' },
        { type: 'boolean' },
        { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] }, maxItems: MOST_VALUES },
      ],
      nullable: true,
    },
    maxProperties: MOST_PARTS,
  },
  example: EXAMPLE,
  explanation:
    'What a request has for the parts of the key of the rule, by their names; null for what it does not have. The merchant is that of the path. ' +
    'A path is written as clients send it. What a body has is written as JSON has it there: the number 17 is another value than the text "17", and what ' +
    'comes more than once is a list. A claim of a token is a text, or a list of texts.',
};

const QUERY_EXPECTED = `must be a JSON object like ${JSON.stringify(EXAMPLE)}`;

/** The same in a query: as the text of a JSON object. */
export const KEY_PARTS_TEXT: TextFormat = {
  expected: QUERY_EXPECTED,
  fault: (text) => {
    const value = jsonOf(text);
    if (value === undefined) return QUERY_EXPECTED;
    const [first] = partsFaults(value, { pointer: '', code: '' });
    return first && `${QUERY_EXPECTED}; ${first.pointer.slice(1)} ${first.detail}`;
  },
  schema: { maxLength: MOST_VALUE_CHARACTERS },
};

/** @param text without a fault */
export function writtenParts(text: string | undefined): WrittenParts | undefined {
  return text === undefined ? undefined : (jsonOf(text) as WrittenParts);
}

function jsonOf(text: string): unknown {
  if (text.length > MOST_VALUE_CHARACTERS) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function partsFaults(value: unknown, place: Place): Fault[] {
  const faultAt = ({ pointer, code }: Place, reason: string, detail: string): Fault => ({ pointer, code: `${code}.${reason}`, detail });
  if (!isPlainObject(value))
    return [faultAt(place, 'wrong_type', `must be an object like ${JSON.stringify(EXAMPLE)}, got ${shown(value)}`)];
  const parts = Object.entries(value);
  if (parts.length > MOST_PARTS) return [faultAt(place, 'wrong_length', `must have at most ${MOST_PARTS} parts, got ${parts.length}`)];
  const names = new Set<string>();
  return parts.flatMap(([name, each]) => {
    const at = { ...place, pointer: `${place.pointer}/${escapedPointer(name)}` };
    const wrongName = FIELD_NAME.check(name, at, {});
    if (wrongName.length > 0) return [...wrongName];
    if (name === 'merchant') return [faultAt(at, 'not_applicable', 'is named by the path')];
    const isRepeated = names.size === names.add(canonicalField(name)).size;
    if (isRepeated) return [faultAt(at, 'repeated', 'is named twice, in another case')];
    const expected = valueFault(name, each);
    return expected === undefined ? [] : [faultAt(at, 'malformed', `${expected}, got ${shown(each)}`)];
  });
}

function valueFault(name: string, value: unknown): string | undefined {
  if (name === 'ip' || name === 'method' || name === 'ip.prefix') {
    if (typeof value !== 'string') return 'must be a text: every request has it';
    if (name === 'method') return HTTP_METHOD.fault(value);
    return isIP(name === 'ip' ? value : value.replace(/\/64$/, '')) === 0 ? 'must be an IP address' : undefined;
  }
  if (value === null || isText(value)) return undefined;
  if (name.startsWith('body.')) return isBodyScalar(value) || isListOf(value, isBodyScalar) ? undefined : BODY_EXPECTED;
  if (isClaimField(name)) return isListOf(value, isText) ? undefined : CLAIM_EXPECTED;
  return VALUE_EXPECTED;
}

const LIST = `or a list of at most ${MOST_VALUES} of these`;
const BODY_EXPECTED = `must be a text of at most ${MOST_VALUE_CHARACTERS} characters, a number of at most ${MOST_DIGITS} digits, true or false, ${LIST}, or null for a request without it`;
const CLAIM_EXPECTED = `must be a text of at most ${MOST_VALUE_CHARACTERS} characters, ${LIST}, or null for a request without it`;

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MOST_VALUE_CHARACTERS && value.isWellFormed();
}

function isBodyScalar(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && Number(value.toPrecision(MOST_DIGITS)) === value;
  return typeof value === 'boolean' || isText(value);
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length <= MOST_VALUES && value.every(isItem);
}

/** The parts of a key that an operator has named, and whether they are enough. */
export class KeyValues {
  private readonly parts: ReadonlyMap<string, NamedValue | null>;

  /** @param ip short for the part of that name, as `method` is */
  constructor({ ip, method, key = {} }: { ip?: string | undefined; method?: string | undefined; key?: WrittenParts | undefined }) {
    const written = { ...key, ...(ip !== undefined && { ip }), ...(method !== undefined && { method }) };
    this.parts = new Map(Object.entries(written).map(([name, value]) => [canonicalField(name), name === 'ip' ? canonical(value) : value]));
  }

  /** The network of an address follows from it. */
  has(part: KeyPart): boolean {
    const name = canonicalField(part);
    return name === 'merchant' || this.parts.has(name) || (name === 'ip.prefix' && this.parts.has('ip'));
  }

  /** A request that has what was named. Undefined where a part is named that cannot be put into one. */
  request(merchantId: string, key: readonly KeyPart[]): Descriptor | undefined {
    const present = [...this.parts].flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
    const descriptor = describedBy(merchantId, Object.fromEntries(present));
    const isThere = (part: KeyPart) => this.parts.get(canonicalField(part)) === null || keyPartOf(descriptor, part) !== undefined;
    return key.every(isThere) ? descriptor : undefined;
  }
}

/** What the audit keeps of them: where clients may write anything there may be secrets, and so it stands there as in the key of the bucket. */
export function auditedParts(key: WrittenParts): WrittenParts {
  const audited = ([name, value]: [string, NamedValue | null]): [string, NamedValue | null] => {
    if (value === null || !requestField(name).isFree) return [name, value];
    return [name, `digest:${digestOf(typeof value === 'string' ? value : JSON.stringify(value))}`];
  };
  return Object.fromEntries(Object.entries(key).map(audited));
}

function canonical(address: NamedValue | null): NamedValue | null {
  return typeof address === 'string' ? canonicalAddress(address) : address;
}
