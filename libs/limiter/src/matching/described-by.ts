import type { BodyFacts } from '../body/json-body.js';
import { decimalOfNumber, decimalText } from '../conditions/decimal.js';
import { type FieldScalar, JsonScalar } from '../conditions/field-value.js';
import { canonicalField, isBodyField } from '../conditions/request-field.js';
import type { Descriptor } from './descriptor.js';

/** What a field has: a text, except that in a body numbers and truth values are others than the texts that look like them. */
export type NamedScalar = string | number | boolean;

/** What a field has that may come more than once: members of a body and claims of a token. */
export type NamedValue = NamedScalar | readonly NamedScalar[];

/** What a request has under the names of fields. What is not named is absent. */
export type NamedFields = Readonly<Record<string, NamedValue>>;

/**
 * The request of a merchant that has these fields and no others, so that the code that reads fields of requests finds them there. Nothing stands in it under the
 * name of a field that this does not know.
 */
export function describedBy(merchantId: string, written: NamedFields): Descriptor {
  const fields = new Map<string, string>();
  const claims: [name: string, value: NamedValue][] = [];
  const members = new Map<string, NamedValue>();
  for (const [name, value] of Object.entries(written)) {
    if (name.startsWith(CLAIM)) claims.push([name.slice(CLAIM.length), value]);
    else if (isBodyField(name)) members.set(name.slice(BODY.length), value);
    else fields.set(canonicalField(name), String(value));
  }
  const query = new URLSearchParams(namesBehind(fields, 'query.')).toString();
  // A question mark in a path is a part of a segment.
  const path = (fields.get('path') ?? '').replaceAll('?', '%3F');
  const cookies = namesBehind(fields, 'cookie.').map((pair) => pair.join('='));
  const cookieLine = fields.get('header.cookie') ?? (cookies.length === 0 ? undefined : cookies.join('; '));
  const labels = namesBehind(fields, 'apiKey.label.');
  const keyId = fields.get('apiKey');
  return {
    merchantId,
    ip: fields.get('ip') ?? fields.get('ip.prefix')?.replace(/\/64$/, '') ?? '',
    method: fields.get('method') ?? '',
    target: query === '' ? path : `${path}?${query}`,
    user: fields.get('user'),
    apiKey: keyId === undefined && labels.length === 0 ? undefined : { id: keyId ?? '', labels: Object.fromEntries(labels) },
    // A claim is looked for under its whole name first, dots included.
    jwt: claims.length === 0 ? undefined : JSON.stringify(Object.fromEntries(claims)),
    more: {
      headerValues: (name) => {
        const value = name === 'cookie' ? cookieLine : fields.get(`header.${name}`);
        return value === undefined ? [] : [value];
      },
      hostName: fields.get('host'),
      country: fields.get('country'),
      body: members.size === 0 ? undefined : bodyOf(members),
    },
  };
}

const CLAIM = 'jwt.';
const BODY = 'body.';

/** The body that has these members, as far as anybody asks for one of them. */
function bodyOf(members: ReadonlyMap<string, NamedValue>): BodyFacts {
  return {
    valueOf: (path) => {
      const value = members.get(path);
      if (value === undefined) return undefined;
      const values = isList(value) ? value.map(inBody) : [inBody(value)];
      // As in a body that was read: one value is no list.
      return values.length === 1 ? values[0] : values;
    },
  };
}

function inBody(value: NamedScalar): FieldScalar {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? new JsonScalar('number', decimalText(decimalOfNumber(value))) : new JsonScalar('truth', String(value));
}

function isList(value: NamedValue): value is readonly NamedScalar[] {
  return Array.isArray(value);
}

function namesBehind(fields: ReadonlyMap<string, string>, prefix: string): [name: string, value: string][] {
  return [...fields].flatMap(([name, value]) => (name.startsWith(prefix) ? [[name.slice(prefix.length), value] as [string, string]] : []));
}
