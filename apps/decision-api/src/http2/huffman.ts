/** How many bits stand for each byte, and last for the end of a text: RFC 7541, appendix B. The codes follow from their lengths: shorter ones first, and those of one length by their bytes. */
// prettier-ignore
const LENGTHS = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  30,
];
const END_OF_TEXT = 256;
const MOST_PADDING_BITS = 7;

/** Two for each node: where a 0 leads to, and where a 1 does. Nodes are above 0, symbols below: -1 is byte 0. */
const TREE = treeOf(LENGTHS);

function treeOf(lengths: readonly number[]): Int16Array {
  const tree = new Int16Array(4 * lengths.length);
  let nodes = 1;
  let [code, codeLength] = [0, 0];
  for (const symbol of lengths.map((_, i) => i).sort((a, b) => lengths[a]! - lengths[b]! || a - b)) {
    code *= 2 ** (lengths[symbol]! - codeLength);
    codeLength = lengths[symbol]!;
    let at = 0;
    for (let bit = codeLength - 1; bit > 0; bit--) {
      const branch = 2 * at + ((code >>> bit) & 1);
      at = tree[branch] ||= nodes++;
    }
    tree[2 * at + (code & 1)] = -1 - symbol;
    code++;
  }
  return tree;
}

/** A text of these bytes, one character to a byte; undefined if they are none: RFC 7541, 5.2. */
export function huffmanText(bytes: Buffer, start: number, end: number): string | undefined {
  let text = '';
  let [node, bitsOfNode, ones] = [0, 0, 0];
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    for (let bit = 7; bit >= 0; bit--) {
      const one = (byte >>> bit) & 1;
      const next = TREE[2 * node + one]!;
      bitsOfNode++;
      ones = one === 1 ? ones + 1 : 0;
      if (next >= 0) {
        node = next;
        continue;
      }
      if (next === -1 - END_OF_TEXT) return undefined;
      text += String.fromCharCode(-1 - next);
      [node, bitsOfNode, ones] = [0, 0, 0];
    }
  }
  // What is left is the beginning of the end of a text: ones.
  return bitsOfNode <= MOST_PADDING_BITS && ones >= bitsOfNode ? text : undefined;
}
