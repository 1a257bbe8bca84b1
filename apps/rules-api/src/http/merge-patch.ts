import { type Fields, isPlainObject } from '#limiter';

/**
 * Applies a JSON merge patch (RFC 7396): members of the patch replace those of the target, null removes one, and a list is replaced as a
 * whole. A null for a name that the table of fields does not have stays in the result, so that its check refuses the misspelt name.
 *
 * @param fields the table of the target; without one, any name is known
 */
export function mergePatch(target: unknown, patch: unknown, fields?: Fields): unknown {
  if (!isPlainObject(patch)) return patch;
  const merged: Record<string, unknown> = isPlainObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    const isKnown = fields === undefined || Object.hasOwn(fields, name);
    if (value === null && isKnown) delete merged[name];
    else merged[name] = mergePatch(merged[name], value, isKnown ? fieldsBelow(name, fields) : undefined);
  }
  return merged;
}

function fieldsBelow(name: string, fields: Fields | undefined): Fields | undefined {
  const field = fields?.[name];
  return field?.kind === 'object' ? field.fields : undefined;
}
