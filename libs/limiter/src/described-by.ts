import { canonicalField } from './conditions/request-field.js';
import type { Descriptor } from './descriptor.js';

/** What a request has under the names of fields, as texts. What is not named is absent. */
export type NamedFields = Readonly<Record<string, string>>;

/**
 * The request of a merchant that has these fields and no others, so that the code that reads fields of requests finds them there. Nothing stands in it under the
 * name of a field that this does not know.
 */
export function describedBy(merchantId: string, written: NamedFields): Descriptor {
  const fields = new Map(Object.entries(written).map(([name, value]) => [canonicalField(name), value]));
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
    more: {
      headerValues: (name) => {
        const value = name === 'cookie' ? cookieLine : fields.get(`header.${name}`);
        return value === undefined ? [] : [value];
      },
      hostName: fields.get('host'),
      country: fields.get('country'),
    },
  };
}

function namesBehind(fields: ReadonlyMap<string, string>, prefix: string): [name: string, value: string][] {
  return [...fields].flatMap(([name, value]) => (name.startsWith(prefix) ? [[name.slice(prefix.length), value] as [string, string]] : []));
}
