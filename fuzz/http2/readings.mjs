/** What a client has said on a connection of HTTP/2, by the letter of RFC 9113, and read without the library of the gateway. */
import { contentOf, Flag, FrameType, PREFACE, readFrames } from './frames.mjs';
import { HpackDecoder, HpackError } from './hpack.mjs';

/**
 * @typedef {import('./hpack.mjs').Field} Field
 *
 * @typedef {object} SentRequest
 * @property {number} streamId
 * @property {string} method
 * @property {string} target
 * @property {string} host of :authority, or of Host without it
 * @property {readonly Field[]} headers those that are no pseudo-headers
 * @property {readonly Field[]} trailers
 * @property {string} body
 * @property {number | undefined} length what it says of its body
 * @property {boolean} isWhole
 * @property {boolean} wasReset by the client
 * @property {string} fault why its headers are malformed; '': they are not
 * @property {string} faultOfEnd why the whole of it is; '': it is not
 *
 * @typedef {object} SentConnection
 * @property {readonly SentRequest[]} requests also those behind something for which the connection may be ended
 * @property {number} missing bytes until the last frame is whole
 * @property {boolean} isEndless whether the last frame is longer than anybody has to wait for
 * @property {string} why the reading ended before the last byte; '': it did not
 */

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const VALUE = /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/;
const OF_CONNECTIONS = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);
const PSEUDO = new Set([':method', ':scheme', ':path', ':authority']);

/** @param {string} sent a byte each character @returns {SentConnection} */
export function readSent(sent) {
  const bytes = Buffer.from(sent, 'latin1');
  if (!bytes.subarray(0, PREFACE.length).equals(PREFACE)) return { requests: [], missing: 0, isEndless: false, why: 'another preface' };
  const { frames, missing, tooLong } = readFrames(bytes, PREFACE.length);
  const connection = new Connection();
  try {
    for (const each of frames) connection.take(each);
  } catch (error) {
    if (!(error instanceof HpackError || error instanceof ConnectionError)) throw error;
    return { requests: connection.requests, missing, isEndless: tooLong, why: error.message };
  }
  return { requests: connection.requests, missing, isEndless: tooLong, why: tooLong ? 'a frame that is too long' : '' };
}

class ConnectionError extends Error {}

/** @typedef {{ -readonly [K in keyof SentRequest]: SentRequest[K] } & { isOpen: boolean }} Stream */

class Connection {
  /** @type {Stream[]} */
  requests = [];
  /** @type {Map<number, Stream>} */
  #streams = new Map();
  #lastId = 0;
  #hpack = new HpackDecoder();
  /** A block of headers that goes on. @type {{ streamId: number, endsStream: boolean, parts: Buffer[] } | undefined} */
  #block;

  /** @param {import('./frames.mjs').Frame} frame */
  take(frame) {
    const { type, flags, streamId, payload } = frame;
    if (this.#block !== undefined) {
      if (type !== FrameType.continuation || streamId !== this.#block.streamId)
        throw new ConnectionError('a frame within a block of headers');
      this.#block.parts.push(payload);
      if ((flags & Flag.endHeaders) !== 0) this.#endBlock();
      return;
    }
    switch (type) {
      case FrameType.data:
        this.#data(frame);
        break;
      case FrameType.headers:
        this.#block = { streamId, endsStream: (flags & Flag.endStream) !== 0, parts: [within(frame)] };
        if ((flags & Flag.endHeaders) !== 0) this.#endBlock();
        break;
      case FrameType.continuation:
        throw new ConnectionError('a block of headers that goes on, and has not begun');
      case FrameType.pushPromise:
        throw new ConnectionError('a promise of a client');
      case FrameType.resetStream:
        this.#reset(streamId, payload);
        break;
      default:
        // The others say nothing of requests.
        break;
    }
  }

  /** @param {import('./frames.mjs').Frame} frame */
  #data(frame) {
    const { streamId, flags } = frame;
    if (streamId === 0 || streamId > this.#lastId) throw new ConnectionError('data of no stream');
    const stream = this.#streams.get(streamId);
    // Nobody looks into what comes on a stream that has been reset.
    if (stream?.isOpen !== true || stream.fault !== '') return;
    stream.body += within(frame).toString('latin1');
    if (stream.length !== undefined && stream.body.length > stream.length) stream.faultOfEnd ||= 'its body is longer than it says';
    if ((flags & Flag.endStream) !== 0) end(stream);
  }

  /** @param {number} streamId @param {Buffer} payload */
  #reset(streamId, payload) {
    if (payload.length !== 4 || streamId === 0 || streamId > this.#lastId) throw new ConnectionError('a reset of no stream');
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    stream.wasReset = true;
    stream.isOpen = false;
  }

  #endBlock() {
    if (this.#block === undefined) return;
    const { streamId, endsStream, parts } = this.#block;
    this.#block = undefined;
    const fields = this.#hpack.decode(Buffer.concat(parts));
    if (streamId === 0) throw new ConnectionError('headers of no stream');
    const before = this.#streams.get(streamId);
    if (before !== undefined) this.#trailers(before, fields, endsStream);
    // What is even, or lower than what was before it, is no request.
    else if (streamId % 2 === 1 && streamId > this.#lastId) this.#request(streamId, fields, endsStream);
    this.#lastId = Math.max(this.#lastId, streamId);
  }

  /** @param {number} streamId @param {readonly Field[]} fields @param {boolean} endsStream */
  #request(streamId, fields, endsStream) {
    const valueOf = (/** @type {string} */ name) => fields.find((each) => each[0] === name && !isLeftOut(each))?.[1];
    const length = valueOf('content-length');
    /** @type {Stream} */
    const stream = {
      streamId,
      method: valueOf(':method') ?? '',
      target: valueOf(':path') ?? '',
      host: valueOf(':authority') || (valueOf('host') ?? ''),
      headers: fields.filter((each) => !each[0].startsWith(':') && !isLeftOut(each)),
      trailers: [],
      body: '',
      isWhole: false,
      wasReset: false,
      fault: faultOf(fields),
      faultOfEnd: '',
      length: length === undefined ? undefined : Number(length),
      isOpen: true,
    };
    this.#streams.set(streamId, stream);
    this.requests.push(stream);
    if (endsStream) end(stream);
  }

  /** @param {Stream} stream @param {readonly Field[]} fields @param {boolean} endsStream */
  #trailers(stream, fields, endsStream) {
    if (!stream.isOpen) return;
    stream.trailers = fields;
    if (!endsStream) stream.faultOfEnd ||= 'headers in its body';
    else if (fields.some((each) => each[0].startsWith(':') || (isMalformed(each) && !isLeftOut(each))))
      stream.faultOfEnd ||= 'its trailers';
    if (endsStream) end(stream);
  }
}

/** @param {import('./frames.mjs').Frame} frame */
function within(frame) {
  const content = contentOf(frame);
  if (content === undefined) throw new ConnectionError('more padding than frame');
  return content;
}

/** @param {Stream} stream */
function end(stream) {
  stream.isOpen = false;
  stream.isWhole = true;
  if (stream.length !== undefined && stream.body.length !== stream.length) stream.faultOfEnd ||= 'its body is not as long as it says';
}

/**
 * What cannot stand in HTTP at all is as if it was not there: nghttp2 leaves it out where RFC 9113 would rather have the request refused. Capitals and
 * pseudo-headers are no such thing.
 * @param {Field} field
 */
const isLeftOut = ([name, value]) => !name.startsWith(':') && !/[A-Z]/.test(name) && !(NAME.test(name) && VALUE.test(value));

/** @param {Field} field */
const isMalformed = ([name]) => /[A-Z]/.test(name) || OF_CONNECTIONS.has(name);

/** RFC 9113, 8.2 and 8.3. @param {readonly Field[]} fields @returns {string} */
function faultOf(fields) {
  const pseudo = new Map();
  let isBehind = false;
  let lengths = 0;
  for (const field of fields) {
    const [name, value] = field;
    if (name.startsWith(':')) {
      if (isBehind) return `${name} behind other headers`;
      if (!PSEUDO.has(name) || pseudo.has(name)) return `${name} is unknown, or there twice`;
      if (!VALUE.test(value)) return `the value of ${name}`;
      pseudo.set(name, value);
      continue;
    }
    isBehind = true;
    if (isLeftOut(field)) continue;
    if (isMalformed(field)) return `the header ${JSON.stringify(field)}`;
    if (name === 'te' && value.toLowerCase() !== 'trailers') return 'its TE';
    if (name === 'content-length' && (++lengths > 1 || !/^\d+$/.test(value) || !Number.isSafeInteger(Number(value)))) return 'its length';
  }
  return faultOfPseudo(pseudo);
}

/** @param {ReadonlyMap<string, string>} pseudo @returns {string} */
function faultOfPseudo(pseudo) {
  const method = pseudo.get(':method');
  const path = pseudo.get(':path');
  if (!method) return 'no :method';
  if (/[^\x21-\x7e]/.test(pseudo.get(':authority') ?? '')) return 'an :authority that is none';
  if (method === 'CONNECT') return pseudo.has(':scheme') || pseudo.has(':path') ? 'CONNECT with :scheme or :path' : '';
  if (!pseudo.get(':scheme') || !path) return 'no :scheme, or no :path';
  return path.startsWith('/') || (path === '*' && method === 'OPTIONS') ? '' : 'a :path that is none';
}
