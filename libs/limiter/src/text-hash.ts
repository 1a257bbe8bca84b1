/** A hash of the characters of a text, or of the first `length` of them: FNV-1a over UTF-16 code units, and the end of MurmurHash3, which lets every bit depend on all. From 0 to 2^32 - 1. */
export function textHash(text: string, length = text.length): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
