/**
 * Readings of a stream of HTTP/1.1 requests: by the letter of RFC 9112, and as servers are known to read that are not so strict. What two of them understand
 * differently is how requests are smuggled.
 */

/**
 * @typedef {{
 *   method: string, target: string, version: string,
 *   headers: readonly (readonly [name: string, value: string])[],
 *   body: string, isWhole: boolean,
 *   trailers: readonly (readonly [name: string, value: string])[],
 * }} ReadRequest
 * @typedef {'end' | 'closed' | 'incomplete' | 'invalid'} Ending
 *   `closed`: what follows is not looked at, because a request has said so
 * @typedef {{ requests: readonly ReadRequest[], ending: Ending, why: string }} Reading
 *   a request that is not whole stands last
 *
 * @typedef {object} Reader
 * @property {string} name
 * @property {boolean} [isStrict] what is not by the letter ends the reading
 * @property {boolean} [skipsEmptyLines] before a request, as RFC 9112 wants it of servers
 * @property {boolean} [bareLf] a line feed ends a line, whatever is before it
 * @property {boolean} [bareCr] a carriage return does
 * @property {boolean} [folds] a line that begins with a space goes on with the one before it
 * @property {boolean} [looseNames] names of headers are read without spaces and control characters, and with `_` as `-`
 * @property {'exact' | 'contains' | 'never'} [te] when a Transfer-Encoding counts
 * @property {'first' | 'last'} [length] which Content-Length counts
 * @property {boolean} [lengthWins] over a Transfer-Encoding
 */

/** @type {Reader} */
export const STRICT = { name: 'strict', isStrict: true, skipsEmptyLines: true };
/** What the gateway sends must not need any tolerance. @type {Reader} */
export const STRICTEST = { name: 'strictest', isStrict: true };

/** @type {readonly Reader[]} */
export const LENIENT = [
  { name: 'line feeds end lines', bareLf: true },
  { name: 'carriage returns end lines', bareLf: true, bareCr: true },
  { name: 'lines are folded', folds: true },
  { name: 'names are loose', looseNames: true, te: 'contains' },
  { name: 'Content-Length wins', lengthWins: true },
  { name: 'no Transfer-Encoding', te: 'never' },
  { name: 'any chunked counts', te: 'contains' },
  { name: 'the last Content-Length', length: 'last', te: 'contains', looseNames: true, bareLf: true },
];

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const TARGET = /^[\x21-\x7e]+$/;
const CHUNK_LINE = /^([0-9A-Fa-f]+)(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?$/;
const OWS = /^[ \t]+|[ \t]+$/g;

class Incomplete extends Error {}
class Invalid extends Error {}

/** @param {string} text a byte each character @param {Reader} reader @returns {Reading} */
export function read(text, reader) {
  const stream = new Stream(text, reader);
  /** @type {ReadRequest[]} */
  const requests = [];
  try {
    for (;;) {
      if (reader.skipsEmptyLines || !reader.isStrict) stream.skipEmptyLines();
      if (stream.isAtEnd) return { requests, ending: 'end', why: '' };
      const request = stream.request();
      requests.push(request);
      if (reader.isStrict && isLast(request)) return { requests, ending: stream.isAtEnd ? 'end' : 'closed', why: '' };
    }
  } catch (error) {
    if (!(error instanceof Incomplete || error instanceof Invalid)) throw error;
    if (stream.begun !== undefined) requests.push(stream.begun);
    return { requests, ending: error instanceof Invalid ? 'invalid' : 'incomplete', why: error.message };
  }
}

/** @param {Pick<ReadRequest, 'headers'>} request @param {string} name in small letters @returns {string[]} */
export function valuesOf({ headers }, name) {
  return headers.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value);
}

/** @param {ReadRequest} request */
function isLast(request) {
  const options = valuesOf(request, 'connection').flatMap((value) => value.split(',').map((each) => each.trim().toLowerCase()));
  return options.includes('close') || (request.version === 'HTTP/1.0' && !options.includes('keep-alive'));
}

class Stream {
  /** The request that is being read, once its headers are known. @type {ReadRequest | undefined} */
  begun;
  #at = 0;
  /** Of the request that is being read. @type {ReadRequest['trailers']} */
  #trailers = [];
  #text;
  #reader;

  /** @param {string} text @param {Reader} reader */
  constructor(text, reader) {
    this.#text = text;
    this.#reader = reader;
  }

  get isAtEnd() {
    return this.#at === this.#text.length;
  }

  skipEmptyLines() {
    while (/[\r\n]/.test(this.#text[this.#at] ?? '')) this.#at++;
  }

  /** @returns {ReadRequest} */
  request() {
    const [method = '', target = '', version = ''] = this.#requestLine();
    const headers = this.#headers();
    const head = { method, target, version, headers };
    this.begun = { ...head, body: '', isWhole: false, trailers: [] };
    this.#trailers = [];
    if (this.#reader.isStrict) demandHost(head);
    const framing = this.#framing(head);
    const body = framing === 'chunked' ? this.#chunks(head) : this.#take(framing, head);
    this.begun = undefined;
    return { ...head, body, isWhole: true, trailers: this.#trailers };
  }

  #requestLine() {
    const line = this.#line();
    if (!this.#reader.isStrict) return line.trim().split(/[ \t]+/);
    // A recipient may read words between spaces (RFC 9112, 3).
    const parts = line.split(/ +/);
    const [method = '', target = '', version = ''] = parts;
    const isGood = parts.length === 3 && TOKEN.test(method) && TARGET.test(target) && /^HTTP\/1\.[01]$/.test(version);
    if (!isGood) throw new Invalid(`the request line ${JSON.stringify(line)}`);
    return parts;
  }

  /** Without the end of the line. */
  #line() {
    const { bareLf, bareCr, isStrict } = this.#reader;
    const ends = bareCr ? /\r\n|\r|\n/g : bareLf ? /\r?\n/g : /\r\n/g;
    ends.lastIndex = this.#at;
    const end = ends.exec(this.#text);
    if (end === null) {
      const rest = this.#text.slice(this.#at);
      if (isStrict && /\n|\r[^]/.test(rest)) throw new Invalid('a line that does not end as lines do');
      throw new Incomplete('a line without an end');
    }
    const line = this.#text.slice(this.#at, end.index);
    if (isStrict && /[\r\n]/.test(line)) throw new Invalid('the end of a line within a line');
    this.#at = ends.lastIndex;
    return line;
  }

  #headers() {
    /** @type {[string, string][]} */
    const headers = [];
    for (let line = this.#line(); line !== ''; line = this.#line()) {
      const last = headers.at(-1);
      if (this.#reader.folds && last !== undefined && /^[ \t]/.test(line)) last[1] += ` ${line.trim()}`;
      else headers.push(this.#header(line));
    }
    return headers;
  }

  /** @param {string} line @returns {[string, string]} */
  #header(line) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon));
    const value = line.slice(colon + 1).replace(OWS, '');
    const { isStrict, looseNames } = this.#reader;
    if (isStrict && !(TOKEN.test(name) && VALUE.test(value))) throw new Invalid(`the header ${JSON.stringify(line)}`);
    return [looseNames ? name.replace(/[^\x21-\x7e]/g, '').replaceAll('_', '-') : name, value];
  }

  /** Bytes, or chunks. @param {Pick<ReadRequest, 'headers' | 'version'>} head @returns {number | 'chunked'} */
  #framing(head) {
    const codings = valuesOf(head, 'transfer-encoding');
    const lengths = valuesOf(head, 'content-length');
    const { isStrict, length, lengthWins, te = 'exact' } = this.#reader;
    if (isStrict) return strictFraming(head.version, codings, lengths);
    const all = codings.join(', ').toLowerCase();
    const isChunked = te === 'exact' ? all === 'chunked' : te === 'contains' && all.includes('chunked');
    const number = Number.parseInt((length === 'last' ? lengths.at(-1) : lengths[0]) ?? '', 10);
    const bytes = number > 0 ? number : 0;
    return isChunked && !(lengthWins && lengths.length > 0) ? 'chunked' : bytes;
  }

  /** @param {number} bytes @param {Omit<ReadRequest, 'body' | 'isWhole' | 'trailers'>} head */
  #take(bytes, head) {
    const body = this.#text.slice(this.#at, this.#at + bytes);
    if (body.length < bytes) {
      this.begun = { ...head, body, isWhole: false, trailers: [] };
      throw new Incomplete('a body that is not whole');
    }
    this.#at += bytes;
    return body;
  }

  /** @param {Omit<ReadRequest, 'body' | 'isWhole' | 'trailers'>} head */
  #chunks(head) {
    let body = '';
    for (let size = this.#chunkSize(); size > 0; size = this.#chunkSize()) {
      const chunk = this.#text.slice(this.#at, this.#at + size);
      body += chunk;
      this.begun = { ...head, body, isWhole: false, trailers: [] };
      if (chunk.length < size) throw new Incomplete('a chunk that is not whole');
      this.#at += size;
      const rest = this.#line();
      if (this.#reader.isStrict && rest !== '') throw new Invalid('a chunk that is longer than it says');
    }
    this.#trailers = this.#headers();
    return body;
  }

  #chunkSize() {
    const line = this.#line();
    if (!this.#reader.isStrict) return Number.parseInt(line, 16) || 0;
    const [, digits] = CHUNK_LINE.exec(line) ?? [];
    const size = digits === undefined ? NaN : Number.parseInt(digits, 16);
    if (!Number.isSafeInteger(size)) throw new Invalid(`the chunk size ${JSON.stringify(line)}`);
    return size;
  }
}

/** @param {Pick<ReadRequest, 'headers' | 'version'>} head */
function demandHost(head) {
  const hosts = valuesOf(head, 'host');
  if (hosts.length > 1 || (hosts.length === 0 && head.version === 'HTTP/1.1')) throw new Invalid(`${hosts.length} headers Host`);
}

/** RFC 9112, 6. @param {string} version @param {readonly string[]} codings @param {readonly string[]} lengths @returns {number | 'chunked'} */
function strictFraming(version, codings, lengths) {
  if (codings.length === 0) {
    if (lengths.length === 0) return 0;
    const bytes = Number(lengths[0]);
    if (lengths.length > 1 || !/^\d+$/.test(lengths[0] ?? '') || !Number.isSafeInteger(bytes)) throw new Invalid('its Content-Length');
    return bytes;
  }
  const isGood = codings.length === 1 && codings[0]?.toLowerCase() === 'chunked' && lengths.length === 0 && version === 'HTTP/1.1';
  if (!isGood) throw new Invalid('its Transfer-Encoding');
  return 'chunked';
}
