/** Frames of HTTP/2: RFC 9113, 4 and 6. */

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
export const FRAME_HEAD_BYTES = 9;

export const FrameType = {
  Data: 0,
  Headers: 1,
  Priority: 2,
  ResetStream: 3,
  Settings: 4,
  PushPromise: 5,
  Ping: 6,
  GoAway: 7,
  WindowUpdate: 8,
  Continuation: 9,
} as const;

export const Flag = { Ack: 0x1, EndStream: 0x1, EndHeaders: 0x4, Padded: 0x8, Priority: 0x20 } as const;

export const Setting = { EnablePush: 2, MostStreams: 3, InitialWindow: 4, MostFrameBytes: 5, MostHeaderBytes: 6 } as const;

export const ErrorCode = {
  None: 0,
  Protocol: 1,
  Internal: 2,
  FlowControl: 3,
  StreamClosed: 5,
  FrameSize: 6,
  RefusedStream: 7,
  Compression: 9,
  EnhanceYourCalm: 11,
} as const;
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** What both sides may count on before they have said anything else. */
export const FIRST_WINDOW = 65_535;
export const LARGEST_WINDOW = 2 ** 31 - 1;
export const FIRST_FRAME_BYTES = 16_384;
export const LARGEST_FRAME_BYTES = 2 ** 24 - 1;

/** Writes the head of a frame. Answers where its payload begins. */
export function writeHead(target: Buffer, at: number, length: number, type: number, flags: number, stream: number): number {
  target[at] = length >>> 16;
  target[at + 1] = length >>> 8;
  target[at + 2] = length;
  target[at + 3] = type;
  target[at + 4] = flags;
  target[at + 5] = stream >>> 24;
  target[at + 6] = stream >>> 16;
  target[at + 7] = stream >>> 8;
  target[at + 8] = stream;
  return at + FRAME_HEAD_BYTES;
}

export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEAD_BYTES + payload.length);
  bytes.set(payload, writeHead(bytes, 0, payload.length, type, flags, stream));
  return bytes;
}

/** A frame whose payload is 32-bit numbers. */
export function numbersFrame(type: number, stream: number, ...numbers: readonly number[]): Buffer {
  const payload = Buffer.alloc(4 * numbers.length);
  numbers.forEach((value, i) => payload.writeUInt32BE(value, 4 * i));
  return frame(type, 0, stream, payload);
}

export function settingsFrame(pairs: readonly (readonly [setting: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * pairs.length);
  pairs.forEach(([setting, value], i) => {
    payload.writeUInt16BE(setting, 6 * i);
    payload.writeUInt32BE(value, 6 * i + 2);
  });
  return frame(FrameType.Settings, 0, 0, payload);
}

/** A block of headers for one frame, or for several if it is larger than one may be. @param flags of the first: END_STREAM or none */
export function headerFrames(stream: number, block: Buffer, flags: number, mostBytes: number): Buffer {
  if (block.length <= mostBytes) return frame(FrameType.Headers, flags | Flag.EndHeaders, stream, block);
  const frames = [frame(FrameType.Headers, flags, stream, block.subarray(0, mostBytes))];
  for (let at = mostBytes; at < block.length; at += mostBytes) {
    const piece = block.subarray(at, at + mostBytes);
    frames.push(frame(FrameType.Continuation, at + mostBytes >= block.length ? Flag.EndHeaders : 0, stream, piece));
  }
  return Buffer.concat(frames);
}
