import { isIP } from 'node:net';
import { fieldOfKey, headerOfKey } from './descriptor-fields.js';
import { BESIDE_HEADER, DESCRIPTOR_HEADER, type DescriptorEntry, descriptorText } from './descriptor-text.js';

/** A descriptor as a request, by the names that rules have for what stands in it. What a descriptor does not say is left out. */
export interface DescribedRequest {
  readonly merchant: string;
  readonly user?: string;
  readonly ip?: string;
  readonly country?: string;
  readonly method?: string;
  /** Percent-encoded, with the query. */
  readonly path?: string;
  readonly host?: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
}

type PlainField = Exclude<keyof DescribedRequest, 'headers'>;

/** What the value of an entry is as a field; undefined if the field cannot have it. Then the value is only part of the whole descriptor. */
const READ: Readonly<Record<PlainField, (value: string) => string | undefined>> = {
  merchant: (value) => value,
  user: (value) => (value !== '' && value.length <= 128 && !/\p{Cc}/u.test(value) ? value : undefined),
  ip: (value) => (isIP(value) === 0 ? undefined : value),
  country: (value) => (/^[A-Z]{2}$/.test(value) ? value : undefined),
  method: (value) => (/^[A-Z][A-Z-]{0,31}$/.test(value) ? value : undefined),
  path: (value) => (value.startsWith('/') ? value.toWellFormed().replace(/[^\x21-\x7e]+/gu, encodeURIComponent) : undefined),
  host: (value) => (/^[\x21-\x7e]{1,255}$/.test(value) ? value : undefined),
};

/**
 * The request that a descriptor describes. Its merchant is the one that it names, or else the one that has the name of the domain.
 *
 * @param beside the other descriptors of the same call, as texts
 */
export function describedRequest(domain: string, entries: readonly DescriptorEntry[], beside: readonly string[] = []): DescribedRequest {
  const fields: Partial<Record<PlainField, string>> = {};
  const headers = new Map<string, string | string[]>();
  for (const { key, value } of entries) {
    const field = fieldOfKey(key);
    if (field !== undefined && field in READ) {
      const read = READ[field as PlainField](value);
      if (read !== undefined) fields[field as PlainField] ??= read;
    } else if (field !== undefined) {
      addHeader(headers, headerOfKey(key)!, value);
    }
  }
  headers.set(DESCRIPTOR_HEADER, descriptorText(domain, entries));
  if (beside.length > 0) headers.set(BESIDE_HEADER, [...beside]);
  return { merchant: domain, ...fields, headers: Object.fromEntries(headers) };
}

function addHeader(headers: Map<string, string | string[]>, name: string, value: string): void {
  const before = headers.get(name);
  if (before === undefined) headers.set(name, value);
  else headers.set(name, typeof before === 'string' ? [before, value] : [...before, value]);
}
