/** The Huffman code of HPACK (RFC 7541, appendix B). It is canonical, so that the lengths of its codes say all. */

/** Bits of the code of each byte, and of the end. */
const LENGTHS = [
  ...[13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28],
  ...[28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28],
  ...[6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6],
  ...[5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10],
  ...[13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7],
  ...[7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6],
  ...[15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5],
  ...[6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28],
  ...[20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23],
  ...[24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24],
  ...[22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23],
  ...[21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23],
  ...[26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25],
  ...[19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27],
  ...[20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23],
  ...[26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26],
  30,
];
const END = 256;
const MOST_BITS = 30;

/** Codes by symbol, as texts of bits, and symbols by code. */
const { codes, symbols } = canonical();

function canonical() {
  /** @type {string[]} */
  const codes = [];
  /** @type {Map<string, number>} */
  const symbols = new Map();
  let code = 0;
  for (let bits = 1; bits <= MOST_BITS; bits++) {
    code *= 2;
    for (const [symbol, length] of LENGTHS.entries()) {
      if (length !== bits) continue;
      const text = (code++).toString(2).padStart(bits, '0');
      codes[symbol] = text;
      symbols.set(text, symbol);
    }
  }
  return { codes, symbols };
}

/** @param {string} text a byte each character @param {string} [padding] bits that the last byte is filled with */
export function huffmanEncoded(text, padding = '1111111') {
  let bits = '';
  for (let i = 0; i < text.length; i++) bits += codes[text.charCodeAt(i)] ?? '';
  const rest = bits.length % 8;
  return bytesOf(rest === 0 ? bits : bits + padding.slice(0, 8 - rest));
}

/** The end of the code, which nobody may send. */
export const HUFFMAN_END = bytesOf(`${codes[END] ?? ''}11`);

/** @param {string} bits a multiple of eight */
function bytesOf(bits) {
  return Buffer.from(bits.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? []);
}

/** @param {Buffer} bytes @returns {string | undefined} undefined: it is none */
export function huffmanDecoded(bytes) {
  let text = '';
  let code = '';
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      code += (byte >> bit) & 1;
      const symbol = symbols.get(code);
      if (symbol === END || code.length > MOST_BITS) return undefined;
      if (symbol === undefined) continue;
      text += String.fromCharCode(symbol);
      code = '';
    }
  }
  return code.length < 8 && !code.includes('0') ? text : undefined;
}
