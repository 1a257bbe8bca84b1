/** Text that a command writes into a page, between two marks. */
import { readFileSync, writeFileSync } from 'node:fs';

/**
 * @param {string} file
 * @param {RegExp} marks the first mark with the end of its line, anything, and the last mark: the marks are its two groups
 * @param {string} text
 * @throws {Error} when the page has lost its marks
 */
export function writeBetween(file, marks, text) {
  const before = readFileSync(file, 'utf8');
  if (!marks.test(before)) throw new Error(`${file} has lost the marks between which this belongs: ${marks}`);
  writeFileSync(
    file,
    before.replace(marks, (_, first, last) => `${first}${text}\n${last}`),
  );
}
