/** HPACK (RFC 7541), by itself: what the gateway's library understands is compared with what is written here. */
import { huffmanDecoded, huffmanEncoded } from './huffman.mjs';

/** @typedef {readonly [name: string, value: string]} Field a byte each character */

/** @type {readonly Field[]} */
const STATIC = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  .../** @type {Field[]} */ (
    (
      'accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control content-disposition content-encoding ' +
      'content-language content-length content-location content-range content-type cookie date etag expect expires from host if-match ' +
      'if-modified-since if-none-match if-range if-unmodified-since last-modified link location max-forwards proxy-authenticate ' +
      'proxy-authorization range referer refresh retry-after server set-cookie strict-transport-security transfer-encoding user-agent vary via ' +
      'www-authenticate'
    )
      .split(' ')
      .map((name) => [name, ''])
  ),
];
const DEFAULT_TABLE_BYTES = 4_096;
const BYTES_OF_ENTRY = 32;
const MOST_INTEGER = 2 ** 31;

export class HpackError extends Error {}

/** What both sides remember of the headers so far. */
class Table {
  /** The newest first. @type {Field[]} */
  #entries = [];
  #bytes = 0;
  #maxBytes = DEFAULT_TABLE_BYTES;

  get size() {
    return STATIC.length + this.#entries.length;
  }

  /** @param {number} index from 1 on */
  at(index) {
    return STATIC[index - 1] ?? this.#entries[index - 1 - STATIC.length];
  }

  /** @param {(field: Field) => boolean} matches @returns {number} 0: none */
  find(matches) {
    for (let index = 1; index <= this.size; index++) if (matches(/** @type {Field} */ (this.at(index)))) return index;
    return 0;
  }

  /** @param {Field} field */
  add(field) {
    this.#entries.unshift(field);
    this.#bytes += bytesOf(field);
    this.#shrink();
  }

  /** @param {number} maxBytes */
  resize(maxBytes) {
    this.#maxBytes = maxBytes;
    this.#shrink();
  }

  #shrink() {
    while (this.#bytes > this.#maxBytes) this.#bytes -= bytesOf(/** @type {Field} */ (this.#entries.pop()));
  }
}

/** @param {Field} field */
const bytesOf = ([name, value]) => name.length + value.length + BYTES_OF_ENTRY;

/** A number of which the first byte has `prefix` bits. @param {number} value @param {number} prefix @param {number} flags the other bits of that byte */
export function integer(value, prefix, flags) {
  const most = 2 ** prefix - 1;
  if (value < most) return Buffer.from([flags | value]);
  const bytes = [flags | most];
  let rest = value - most;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push(0x80 | (rest % 0x80));
  return Buffer.from([...bytes, rest]);
}

/** @param {string} text @param {boolean} huffman */
export function string(text, huffman) {
  const bytes = huffman ? huffmanEncoded(text) : Buffer.from(text, 'latin1');
  return Buffer.concat([integer(bytes.length, 7, huffman ? 0x80 : 0), bytes]);
}

/**
 * How a header is written; `indexed` uses the tables as far as they have it, and adds it to them; `named` the name only, if they have it.
 * @typedef {'indexed' | 'named' | 'literal' | 'never'} Form
 */
export class HpackEncoder {
  #table = new Table();

  /** @param {Field} field @param {Form} form @param {boolean} huffman */
  field([name, value], form, huffman) {
    const whole = form === 'indexed' ? this.#table.find((each) => each[0] === name && each[1] === value) : 0;
    if (whole > 0) return integer(whole, 7, 0x80);
    const index = form === 'literal' ? 0 : this.#table.find((each) => each[0] === name);
    const [prefix, flags] = form === 'indexed' ? [6, 0x40] : [4, form === 'never' ? 0x10 : 0];
    if (form === 'indexed') this.#table.add([name, value]);
    const head = integer(index, prefix, flags);
    return Buffer.concat(index === 0 ? [head, string(name, huffman), string(value, huffman)] : [head, string(value, huffman)]);
  }

  /** Says that the table is that large from now on. @param {number} maxBytes */
  resize(maxBytes) {
    this.#table.resize(maxBytes);
    return integer(maxBytes, 5, 0x20);
  }
}

export class HpackDecoder {
  #table = new Table();
  /** @type {Buffer} */
  #bytes = Buffer.alloc(0);
  #at = 0;

  /** @param {number} [maxTableBytes] that we have allowed */
  constructor(maxTableBytes = DEFAULT_TABLE_BYTES) {
    this.maxTableBytes = maxTableBytes;
  }

  /** @param {Buffer} block whole @returns {Field[]} @throws HpackError after which nothing can be read any more */
  decode(block) {
    this.#bytes = block;
    this.#at = 0;
    /** @type {Field[]} */
    const fields = [];
    while (this.#at < block.length) {
      const first = /** @type {number} */ (block[this.#at]);
      if (first >= 0x80) fields.push(this.#indexed(this.#integer(7)));
      else if (first >= 0x40) {
        const field = this.#literal(6);
        this.#table.add(field);
        fields.push(field);
      } else if (first >= 0x20) this.#resize(fields.length > 0);
      else fields.push(this.#literal(4));
    }
    return fields;
  }

  /** @param {boolean} isLate */
  #resize(isLate) {
    const maxBytes = this.#integer(5);
    if (isLate) throw new HpackError('the size of the table changes behind a header');
    if (maxBytes > this.maxTableBytes) throw new HpackError('a table that is too large');
    this.#table.resize(maxBytes);
  }

  /** @param {number} index */
  #indexed(index) {
    const field = index === 0 ? undefined : this.#table.at(index);
    if (field === undefined) throw new HpackError(`there is no header ${index}`);
    return field;
  }

  /** @param {number} prefix @returns {Field} */
  #literal(prefix) {
    const index = this.#integer(prefix);
    const name = index === 0 ? this.#string() : this.#indexed(index)[0];
    return [name, this.#string()];
  }

  #string() {
    const isHuffman = ((this.#bytes[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#integer(7);
    const bytes = this.#bytes.subarray(this.#at, this.#at + length);
    if (bytes.length < length) throw new HpackError('a text that is not whole');
    this.#at += length;
    if (!isHuffman) return bytes.toString('latin1');
    const text = huffmanDecoded(bytes);
    if (text === undefined) throw new HpackError('a text that is no Huffman code');
    return text;
  }

  /** @param {number} prefix */
  #integer(prefix) {
    const most = 2 ** prefix - 1;
    let value = this.#byte() & most;
    if (value < most) return value;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (value > MOST_INTEGER) throw new HpackError('a number that is too large');
      if (byte < 0x80) return value;
    }
  }

  #byte() {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new HpackError('a block that is not whole');
    return byte;
  }
}
