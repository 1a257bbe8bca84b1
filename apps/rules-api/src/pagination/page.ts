import { createHash } from 'node:crypto';
import { invalidQuery } from '../http/invalid-query.js';

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Send it back as `cursor` for the next page; null on the last one. */
  readonly nextCursor: string | null;
}

/** The sort key of the last item of a page; the next page begins after it. */
export type Position = readonly (string | number)[];

/** Of a cursor that is none, or another list's. */
export const CURSOR_EXPECTED = 'must be the nextCursor of a page of this list';

/** The name of a list of which a filter leaves only some items: a cursor belongs to its filter. */
export function filteredList(list: string, filter: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  return given.length === 0 ? list : `${list} ${createHash('sha256').update(JSON.stringify(given)).digest('base64url').slice(0, 16)}`;
}

/** Encodes a position as opaque text that callers send back. `list` is the name of the list that it belongs to. */
export function encodeCursor(list: string, position: Position): string {
  return Buffer.from(JSON.stringify([list, ...position])).toString('base64url');
}

/**
 * Decodes the position in a cursor of the list `list`.
 *
 * @throws ProblemError 400 if the text is no cursor of this list
 */
export function decodeCursor<T extends Position>(list: string, cursor: string, isPosition: (values: readonly unknown[]) => values is T): T {
  const [owner, ...values] = parsed(cursor);
  if (owner !== list || !isPosition(values)) {
    throw invalidQuery([{ parameter: 'cursor', code: 'query.cursor.malformed', detail: CURSOR_EXPECTED }]);
  }
  return values;
}

/** The position in a list that is in the order of its ids. */
export function isIdPosition(values: readonly unknown[]): values is [string] {
  return values.length === 1 && typeof values[0] === 'string' && /^[1-9]\d{0,17}$/.test(values[0]);
}

function parsed(cursor: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

/** Makes a page of at most `limit` items. The caller has read up to `limit + 1` rows; the last one only shows that more follow. */
export function toPage<R, T>(rows: readonly R[], limit: number, show: (row: R) => T, cursorOf: (row: R) => string): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items: items.map(show), nextCursor: rows.length > limit && last !== undefined ? cursorOf(last) : null };
}
