/** A table for a terminal: the first column to the left, numbers to the right. */

/**
 * @param {readonly string[]} heading
 * @param {readonly (readonly string[])[]} rows
 */
export function table(heading, rows) {
  const lines = [heading, ...rows];
  const widths = heading.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  const written = lines.map((line) =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  return [written[0], widths.map((width) => '-'.repeat(width)).join('  '), ...written.slice(1)].join('\n');
}

/** @param {number} value */
export const count = (value) => value.toLocaleString('en');

/** @param {number} part @param {number} whole */
export const percent = (part, whole) => `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`;
