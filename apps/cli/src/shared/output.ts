import Table from 'cli-table3';

/** Results go to stdout. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** What is no result goes to stderr, so that stdout can be piped on. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

const NO_BORDERS = Object.fromEntries(
  ['top', 'bottom', 'left', 'right', 'mid'].flatMap((side) => ['', '-mid', '-left', '-right'].map((place) => [side + place, ''])),
);

/** A table without borders: the first column to the left; the others to the right if they are numbers, and to the left if they are words. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[], others: 'numbers' | 'words' = 'numbers'): string {
  const drawn = new Table({
    head: [...heading],
    colAligns: heading.map((_, column) => (column === 0 || others === 'words' ? 'left' : 'right')),
    chars: { ...NO_BORDERS, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  drawn.push(...rows.map((row) => [...row]));
  return drawn.toString();
}

export const count = (value: number): string => value.toLocaleString('en');

export const percent = (part: number, whole: number): string => `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`;
