import { invalidQuery } from '../http/invalid-query.js';

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Send it back as `cursor` for the next page; null on the last one. */
  readonly nextCursor: string | null;
}

/** The place in a list after which the next page begins: the sort key of the last item. */
export type Position = readonly (string | number)[];

/** Of a cursor that is none, or another list's. */
export const CURSOR_EXPECTED = 'must be the nextCursor of a page of this list';

/** A position as text that callers hand back and do not read. `list` names the list that it belongs to. */
export function encodeCursor(list: string, position: Position): string {
  return Buffer.from(JSON.stringify([list, ...position])).toString('base64url');
}

/**
 * The position in a cursor of the same list.
 * @throws ProblemError 400 when it is not one
 */
export function decodeCursor<T extends Position>(list: string, cursor: string, isPosition: (values: readonly unknown[]) => values is T): T {
  const [owner, ...values] = parsed(cursor);
  if (owner !== list || !isPosition(values)) {
    throw invalidQuery([{ parameter: 'cursor', code: 'query.cursor.malformed', detail: CURSOR_EXPECTED }]);
  }
  return values;
}

function parsed(cursor: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

/** Makes a page of `limit` items from the `limit + 1` that were read to see whether more follow. */
export function toPage<R, T>(rows: readonly R[], limit: number, show: (row: R) => T, cursorOf: (row: R) => string): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items: items.map(show), nextCursor: rows.length > limit && last !== undefined ? cursorOf(last) : null };
}
