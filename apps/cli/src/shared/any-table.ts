import { table } from './output.js';

/** A table of objects whose fields the server chooses: a column for each field that any of them has. */
export function anyTable(items: readonly object[], first: readonly string[] = []): string {
  const present = [...new Set(items.flatMap((item) => Object.keys(item)))];
  const columns = [...first.filter((name) => present.includes(name)), ...present.filter((name) => !first.includes(name))];
  return table(
    columns,
    items.map((item) => columns.map((name) => shownValue((item as Readonly<Record<string, unknown>>)[name]))),
    'words',
  );
}

/** A value in a cell. What comes from outside must not move the cursor of a terminal. */
export function shownValue(value: unknown): string {
  if (value === null || value === undefined) return '-';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, ' ');
}
