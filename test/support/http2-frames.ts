/** Frames of HTTP/2 (RFC 9113) as bytes, for clients that no library would be. */

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  resetStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const Flag = { ack: 0x1, endStream: 0x1, endHeaders: 0x4 } as const;

export function frame(type: number, flags: number, streamId: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/** A length of HPACK: in the rest of a byte of which `prefix` bits are free, and more bytes if it does not fit. */
function hpackLength(value: number, prefix: number, flags: number): number[] {
  const most = 2 ** prefix - 1;
  if (value < most) return [flags | value];
  const bytes = [flags | most];
  for (value -= most; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push(0x80 | (value % 0x80));
  return [...bytes, value];
}

/** A block of headers: each a literal that nobody has to remember, without Huffman. */
export function headerBlock(headers: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (value: string): Buffer =>
    Buffer.concat([Buffer.from(hpackLength(Buffer.byteLength(value, 'latin1'), 7, 0)), Buffer.from(value, 'latin1')]);
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

export const settings = (...pairs: readonly (readonly [id: number, value: number])[]): Buffer => {
  const payload = Buffer.alloc(6 * pairs.length);
  for (const [i, [id, value]] of pairs.entries()) {
    payload.writeUInt16BE(id, 6 * i);
    payload.writeUInt32BE(value, 6 * i + 2);
  }
  return frame(FrameType.settings, 0, 0, payload);
};

export const resetStream = (streamId: number, code: number): Buffer => frame(FrameType.resetStream, 0, streamId, uint32(code));

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export interface ReceivedFrame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

/** The whole frames at the beginning of these bytes, and what is left of them. */
export function readFrames(bytes: Buffer): { frames: ReceivedFrame[]; rest: Buffer } {
  const frames: ReceivedFrame[] = [];
  let rest = bytes;
  for (;;) {
    if (rest.length < 9) return { frames, rest };
    const length = rest.readUIntBE(0, 3);
    if (rest.length < 9 + length) return { frames, rest };
    frames.push({
      type: rest.readUInt8(3),
      flags: rest.readUInt8(4),
      streamId: rest.readUInt32BE(5) & 0x7fffffff,
      payload: rest.subarray(9, 9 + length),
    });
    rest = rest.subarray(9 + length);
  }
}
