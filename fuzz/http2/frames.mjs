/** Frames of HTTP/2 (RFC 9113) as bytes, those that are allowed and those that are not. */

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export const FrameType = /** @type {const} */ ({
  data: 0,
  headers: 1,
  priority: 2,
  resetStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
});
export const Flag = /** @type {const} */ ({ ack: 0x1, endStream: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 });
export const Setting = /** @type {const} */ ({
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
});

const HEAD_BYTES = 9;
/** What a frame may have unless the other side has allowed more. */
export const MAX_FRAME_BYTES = 16_384;

/** @typedef {{ type: number, flags: number, streamId: number, payload: Buffer }} Frame */

/** @param {number} type @param {number} flags @param {number} streamId @param {Buffer} [payload] */
export function frame(type, flags, streamId, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId >>> 0, 5);
  return Buffer.concat([head, payload]);
}

/** @param {number} value */
export function uint32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

/** @param {readonly (readonly [id: number, value: number])[]} pairs */
export function settings(pairs) {
  const payload = Buffer.alloc(6 * pairs.length);
  for (const [i, [id, value]] of pairs.entries()) {
    payload.writeUInt16BE(id, 6 * i);
    payload.writeUInt32BE(value >>> 0, 6 * i + 2);
  }
  return frame(FrameType.settings, 0, 0, payload);
}

/** @param {number} streamId @param {number} bytes */
export const windowUpdate = (streamId, bytes) => frame(FrameType.windowUpdate, 0, streamId, uint32(bytes));

/** @param {number} lastStreamId @param {number} code */
export const goaway = (lastStreamId, code) => frame(FrameType.goaway, 0, 0, Buffer.concat([uint32(lastStreamId), uint32(code)]));

/**
 * The whole frames at the beginning of these bytes, and what is behind them: `missing` bytes of the frame that is begun there, at least.
 * A frame that is longer than one may be ends the reading.
 * @param {Buffer} bytes
 * @param {number} [from]
 * @returns {{ frames: Frame[], at: number, missing: number, tooLong: boolean }}
 */
export function readFrames(bytes, from = 0) {
  /** @type {Frame[]} */
  const frames = [];
  for (let at = from; ;) {
    const left = bytes.length - at;
    if (left === 0) return { frames, at, missing: 0, tooLong: false };
    if (left < HEAD_BYTES) return { frames, at, missing: HEAD_BYTES - left, tooLong: false };
    const length = bytes.readUIntBE(at, 3);
    if (length > MAX_FRAME_BYTES) return { frames, at, missing: 0, tooLong: true };
    const end = at + HEAD_BYTES + length;
    if (end > bytes.length) return { frames, at, missing: end - bytes.length, tooLong: false };
    frames.push({
      type: bytes.readUInt8(at + 3),
      flags: bytes.readUInt8(at + 4),
      streamId: bytes.readUInt32BE(at + 5) & 0x7fffffff,
      payload: bytes.subarray(at + HEAD_BYTES, end),
    });
    at = end;
  }
}

/**
 * What is in a frame that can be padded, without the padding and the priority; undefined if there is more of those than of the frame.
 * @param {Frame} frame
 * @returns {Buffer | undefined}
 */
export function contentOf({ type, flags, payload }) {
  const isPadded = (flags & Flag.padded) !== 0;
  const before = (isPadded ? 1 : 0) + (type === FrameType.headers && (flags & Flag.priority) !== 0 ? 5 : 0);
  const padding = isPadded ? (payload[0] ?? 0) : 0;
  return before + padding > payload.length ? undefined : payload.subarray(before, payload.length - padding);
}
