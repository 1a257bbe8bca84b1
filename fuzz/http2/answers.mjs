/** What comes back on a connection of HTTP/2, frame by frame as it comes. */
import { contentOf, Flag, FrameType, readFrames } from './frames.mjs';
import { HpackDecoder, HpackError } from './hpack.mjs';

/**
 * @typedef {object} AnsweredStream
 * @property {number} streamId
 * @property {number} status 0: there is none
 * @property {import('./hpack.mjs').Field[]} headers
 * @property {string} body
 * @property {boolean} isWhole
 * @property {number | undefined} resetCode why it was reset
 */

const STATUS = /^[1-5]\d\d$/;

export class Answers {
  /** @type {Map<number, AnsweredStream>} */
  streams = new Map();
  /** Data that came back with the acknowledgement of a PING. @type {Set<string>} */
  pongs = new Set();
  /** Codes of GOAWAY. @type {number[]} */
  goaways = [];
  /** What is not as RFC 9113 has it. @type {string[]} */
  faults = [];
  #rest = Buffer.alloc(0);
  #hpack = new HpackDecoder();
  #isFirst = true;
  /** @type {{ streamId: number, endsStream: boolean, parts: Buffer[] } | undefined} */
  #block;

  /** @param {Buffer} bytes */
  take(bytes) {
    const all = Buffer.concat([this.#rest, bytes]);
    const { frames, at, tooLong } = readFrames(all);
    this.#rest = all.subarray(at);
    if (tooLong) this.faults.push('a frame of the gateway is too long');
    for (const frame of frames) this.#frame(frame);
  }

  /** Whether nothing more is to come on a stream. @param {number} streamId */
  hasEnded(streamId) {
    const stream = this.streams.get(streamId);
    return stream !== undefined && (stream.isWhole || stream.resetCode !== undefined);
  }

  /** Whether the gateway has said that something is wrong with the whole connection: nothing more comes on it. */
  get hasFailed() {
    return this.goaways.some((code) => code !== 0);
  }

  /** @param {import('./frames.mjs').Frame} frame */
  #frame(frame) {
    const { type, flags, streamId, payload } = frame;
    if (this.#isFirst && type !== FrameType.settings) this.faults.push('the first frame of the gateway is no SETTINGS');
    this.#isFirst = false;
    if (this.#block !== undefined && (type !== FrameType.continuation || streamId !== this.#block.streamId))
      this.faults.push('a block of headers of the gateway is interrupted');
    switch (type) {
      case FrameType.headers:
        this.#block = { streamId, endsStream: (flags & Flag.endStream) !== 0, parts: [contentOf(frame) ?? payload] };
        if ((flags & Flag.endHeaders) !== 0) this.#endBlock();
        break;
      case FrameType.continuation:
        this.#block?.parts.push(payload);
        if ((flags & Flag.endHeaders) !== 0) this.#endBlock();
        break;
      case FrameType.data:
        this.#data(streamId, contentOf(frame) ?? payload, (flags & Flag.endStream) !== 0);
        break;
      case FrameType.resetStream:
        this.#of(streamId).resetCode ??= payload.readUInt32BE(0);
        break;
      case FrameType.ping:
        if ((flags & Flag.ack) !== 0) this.pongs.add(payload.toString('latin1'));
        break;
      case FrameType.goaway:
        this.goaways.push(payload.readUInt32BE(4));
        break;
      case FrameType.pushPromise:
        this.faults.push('the gateway promises');
        break;
      default:
        break;
    }
  }

  #endBlock() {
    if (this.#block === undefined) return;
    const { streamId, endsStream, parts } = this.#block;
    this.#block = undefined;
    let fields;
    try {
      fields = this.#hpack.decode(Buffer.concat(parts));
    } catch (error) {
      if (!(error instanceof HpackError)) throw error;
      this.faults.push(`headers of the gateway: ${error.message}`);
      return;
    }
    const stream = this.#of(streamId);
    const statuses = fields.filter(([name]) => name === ':status').map(([, value]) => value);
    if (stream.isWhole) this.faults.push(`headers behind the end of stream ${streamId}`);
    else if (stream.status !== 0 && statuses.length > 0) this.faults.push(`stream ${streamId} has two answers`);
    else if (stream.status === 0) this.#answer(stream, statuses, fields);
    if (endsStream) stream.isWhole = true;
  }

  /** @param {AnsweredStream} stream @param {readonly string[]} statuses @param {import('./hpack.mjs').Field[]} fields */
  #answer(stream, statuses, fields) {
    const [status = ''] = statuses;
    if (statuses.length !== 1 || !STATUS.test(status)) this.faults.push(`an answer with ${statuses.length} statuses: ${status}`);
    const odd = fields.find(([name]) => name !== name.toLowerCase() || ['connection', 'transfer-encoding', 'keep-alive'].includes(name));
    if (odd !== undefined) this.faults.push(`an answer with the header ${odd[0]}`);
    if (status.startsWith('1')) return;
    stream.status = Number(status);
    stream.headers = fields;
  }

  /** @param {number} streamId @param {Buffer} content @param {boolean} endsStream */
  #data(streamId, content, endsStream) {
    const stream = this.#of(streamId);
    if (stream.status === 0 || stream.isWhole) this.faults.push(`data outside of the answer of stream ${streamId}`);
    stream.body += content.toString('latin1');
    if (endsStream) stream.isWhole = true;
  }

  /** @param {number} streamId @returns {AnsweredStream} */
  #of(streamId) {
    let stream = this.streams.get(streamId);
    if (stream === undefined)
      this.streams.set(streamId, (stream = { streamId, status: 0, headers: [], body: '', isWhole: false, resetCode: undefined }));
    return stream;
  }
}
