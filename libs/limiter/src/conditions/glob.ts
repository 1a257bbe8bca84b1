import { textSearch } from './text-search.js';

/**
 * Matches whole texts by a glob in which `*` stands for any text, the empty one included. What stands between two stars is taken where it first
 * occurs, which never rules out a match, so that the time is linear in the text.
 */
export function globMatcher(glob: string): (text: string) => boolean {
  const [prefix = '', ...rest] = glob.split('*');
  const suffix = rest.pop();
  if (suffix === undefined) return (text) => text === prefix;
  const between = rest.filter((part) => part !== '').map((part) => ({ length: part.length, find: textSearch(part) }));
  return (text) => {
    if (text.length < prefix.length + suffix.length || !text.startsWith(prefix) || !text.endsWith(suffix)) return false;
    const end = text.length - suffix.length;
    const middle = text.slice(prefix.length, end);
    let at = 0;
    for (const { length, find } of between) {
      const found = find(middle, at);
      if (found === -1) return false;
      at = found + length;
    }
    return true;
  };
}
