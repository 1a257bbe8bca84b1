/** The keys of descriptors that are fields of a request by another name, or by the same one. */
const FIELDS: ReadonlyMap<string, string> = new Map([
  ['merchant', 'merchant'],
  ['user', 'user'],
  ['remote_address', 'ip'],
  ['ip', 'ip'],
  ['path', 'path'],
  ['method', 'method'],
  ['host', 'host'],
  ['country', 'country'],
]);

/** What the name of a header may be in a rule. */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;

/**
 * The field of a request that rules look at by the key of a descriptor's entry: the one of the table, or else a header of the name. Undefined: no rule can
 * name it, and it is only part of the whole descriptor.
 */
export function fieldOfKey(key: string): string | undefined {
  const field = FIELDS.get(key);
  if (field !== undefined) return field;
  const header = headerOfKey(key);
  return header === undefined ? undefined : `header.${header}`;
}

/** The header as which rules see an entry that is no other field; undefined if it cannot be one. */
export function headerOfKey(key: string): string | undefined {
  const name = key.startsWith('header.') ? key.slice('header.'.length) : key;
  const lowerCase = name.toLowerCase();
  // What the door itself says is said by nobody else. Host is a field of its own.
  return HEADER_NAME.test(name) && lowerCase !== 'host' && !lowerCase.startsWith('x-tollgate-') ? lowerCase : undefined;
}
