/** Where a text first stands at an index or behind it; -1 if nowhere. */
export type TextSearch = (text: string, from?: number) => number;

/** Up to this product of the lengths the engine's own search takes no more time than anything else that is done for a condition. */
const SMALL_PRODUCT = 4_096;

/**
 * Knuth, Morris and Pratt's search: no character of the text is looked at more than twice, whatever the text and the pattern are. The engine's own
 * `indexOf` is faster for most texts, and takes the product of both lengths for the worst one: it is used where that is small.
 *
 * @param pattern not empty
 */
export function textSearch(pattern: string): TextSearch {
  const fallback = fallbacks(pattern);
  return (text, from = 0) => {
    if (text.length * pattern.length <= SMALL_PRODUCT) return text.indexOf(pattern, from);
    let matched = 0;
    for (let i = from; i < text.length; i++) {
      const char = text.charCodeAt(i);
      while (matched > 0 && pattern.charCodeAt(matched) !== char) matched = fallback[matched - 1]!;
      if (pattern.charCodeAt(matched) === char) matched++;
      if (matched === pattern.length) return i - matched + 1;
    }
    return -1;
  };
}

/** For each beginning of the pattern: how long the longest shorter beginning is with which it ends. */
function fallbacks(pattern: string): Uint16Array {
  const lengths = new Uint16Array(pattern.length);
  for (let i = 1, length = 0; i < pattern.length; i++) {
    while (length > 0 && pattern.charCodeAt(i) !== pattern.charCodeAt(length)) length = lengths[length - 1]!;
    if (pattern.charCodeAt(i) === pattern.charCodeAt(length)) length++;
    lengths[i] = length;
  }
  return lengths;
}

/** A text in a form in which case makes no difference, in any script: ß and SS, the final and the other sigma. */
export function caseFolded(text: string): string {
  return text.toLowerCase().toUpperCase();
}
