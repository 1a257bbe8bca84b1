/** One step of a descriptor of Envoy's rate limit protocol. */
export interface DescriptorEntry {
  readonly key: string;
  readonly value: string;
}

/**
 * The header under which a rule finds the whole descriptor of a request that came by Envoy's protocol. No request that comes through the gateway has it,
 * whatever its client sends: otherwise a client could choose the rule by which it is limited.
 */
export const DESCRIPTOR_HEADER = 'x-tollgate-descriptor';

/** The same of the other descriptors of the same call, one value for each of them. */
export const BESIDE_HEADER = 'x-tollgate-beside';

/**
 * A descriptor as one text: the domain, the keys, and behind a question mark the values. Two descriptors are different texts, whatever characters they
 * contain, because each part is percent-encoded: there are as many slashes as parts.
 */
export function descriptorText(domain: string, entries: readonly DescriptorEntry[]): string {
  let keys = encoded(domain);
  let values = '';
  for (const { key, value } of entries) {
    keys += `/${encoded(key)}`;
    values += values === '' ? `?${encoded(value)}` : `/${encoded(value)}`;
  }
  return keys + values;
}

/** A descriptor in which some values may be any: `*` stands for any text, also within a value. Undefined is any value at all. */
export interface PatternEntry {
  readonly key: string;
  readonly value: string | undefined;
}

/**
 * The glob (see the operator `like`) of all descriptors of a form. It cannot match one with more or fewer entries: the keys are written out, and a star
 * that reached across a slash would leave too few of them for the rest.
 */
export function descriptorPattern(domain: string, entries: readonly PatternEntry[]): string {
  const keys = entries.map(({ key }) => `/${encoded(key)}`).join('');
  const values = entries.map(({ value }) => (value === undefined ? '*' : value.split('*').map(encoded).join('*')));
  return `${encoded(domain)}${keys}?${values.join('/')}`;
}

/** Lone halves of a pair cannot be encoded; texts of protobuf have none. */
function encoded(text: string): string {
  return PLAIN.test(text) ? text : encodeURIComponent(text.toWellFormed()).replaceAll('*', '%2A');
}

/** What stays as it is. */
const PLAIN = /^[A-Za-z0-9_.!~'()-]*$/;
