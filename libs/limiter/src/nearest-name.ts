/** Longer names are nobody's misspelling of ours. */
const MAX_LENGTH = 40;

/** The known name that somebody who wrote `name` may have meant: at most `different` letters of it are other ones, left out or too much; a third unless given. */
export function nearestName(name: string, known: readonly string[], different = Math.floor(name.length / 3)): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  let nearest: string | undefined;
  let least = different + 1;
  for (const candidate of known) {
    // So many letters at least are inserted or left out.
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < least) [nearest, least] = [candidate, distance];
  }
  return nearest;
}

/** Levenshtein's: letters that are inserted, left out or replaced. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      row.push(Math.min(row[j - 1]! + 1, previous[j]! + 1, previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    previous = row;
  }
  return previous[b.length]!;
}
