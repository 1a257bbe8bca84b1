import { ConnectionError } from './connection-error.js';
import { ErrorCode, FIRST_FRAME_BYTES, Flag, FRAME_HEAD_BYTES, FrameType, LARGEST_WINDOW, PREFACE } from './frames.js';

/** What is done with frames. All of it may throw a ConnectionError. */
export interface FrameTarget {
  /** @param wholeBytes with its padding */
  onData(id: number, data: Buffer, wholeBytes: number, isLast: boolean): void;
  /** @param block of all of its frames */
  onHeaders(id: number, block: Buffer, isLast: boolean): void;
  onReset(id: number): void;
  onWindowUpdate(id: number, bytes: number): void;
  onSettings(pairs: Iterable<readonly [setting: number, value: number]>): void;
  onPing(payload: Buffer): void;
  onPong(): void;
  onGoAway(): void;
}

/** Counts what is held of all connections together. */
export interface HeldBytes {
  /** False: there is no room. */
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}

const PING_BYTES = 8;
const SETTING_BYTES = 6;
const PRIORITY_BYTES = 5;
/** In one frame. Nobody has more than a dozen to say, and a new first window costs a visit to every stream. */
const MOST_SETTINGS = 32;
/** Of a block of headers: they may be empty. */
const MOST_PIECES = 32;

interface HeldBlock {
  readonly id: number;
  readonly isLast: boolean;
  readonly pieces: Buffer[];
  bytes: number;
}

/** Frames from the bytes of a caller, with what RFC 9113 says of their form. Holds no more than a frame, and the pieces of one block of headers. */
export class FrameReader {
  /** Bytes of a frame that is not whole. */
  private rest: Buffer = Buffer.alloc(0);
  private hasGreeted = false;
  private isSet = false;
  /** A block of headers that goes on in other frames. */
  private block: HeldBlock | undefined;

  constructor(
    private readonly target: FrameTarget,
    private readonly mostBlockBytes: number,
    private readonly held: HeldBytes,
  ) {}

  /** Nothing more is read. */
  close(): void {
    this.held.giveBack(this.block?.bytes ?? 0);
    this.block = undefined;
  }

  /** @throws ConnectionError */
  read(chunk: Buffer): void {
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    let at = this.hasGreeted ? 0 : this.greeting(bytes);
    while (this.hasGreeted && bytes.length - at >= FRAME_HEAD_BYTES) {
      const length = bytes.readUIntBE(at, 3);
      if (length > FIRST_FRAME_BYTES) throw new ConnectionError(ErrorCode.FrameSize);
      const end = at + FRAME_HEAD_BYTES + length;
      if (end > bytes.length) break;
      this.arrived(bytes[at + 3]!, bytes[at + 4]!, bytes.readUInt32BE(at + 5) & LARGEST_WINDOW, bytes.subarray(at + FRAME_HEAD_BYTES, end));
      at = end;
    }
    this.rest = bytes.subarray(at);
  }

  /** Answers where the first frame begins. */
  private greeting(bytes: Buffer): number {
    const length = Math.min(bytes.length, PREFACE.length);
    if (bytes.compare(PREFACE, 0, length, 0, length) !== 0) throw new ConnectionError(ErrorCode.Protocol);
    this.hasGreeted = length === PREFACE.length;
    return this.hasGreeted ? length : 0;
  }

  private arrived(type: number, flags: number, id: number, payload: Buffer): void {
    demand(this.isSet || (type === FrameType.Settings && !(flags & Flag.Ack)), ErrorCode.Protocol);
    demand(this.block === undefined || (type === FrameType.Continuation && id === this.block.id), ErrorCode.Protocol);
    switch (type) {
      case FrameType.Data: {
        demand(id !== 0, ErrorCode.Protocol);
        return this.target.onData(id, unpadded(flags, payload), payload.length, (flags & Flag.EndStream) !== 0);
      }
      case FrameType.Headers:
        return this.headers(flags, id, payload);
      case FrameType.Continuation:
        return this.continuation(flags, payload);
      case FrameType.ResetStream: {
        demand(id !== 0, ErrorCode.Protocol);
        demand(payload.length === 4, ErrorCode.FrameSize);
        return this.target.onReset(id);
      }
      case FrameType.WindowUpdate: {
        demand(payload.length === 4, ErrorCode.FrameSize);
        return this.target.onWindowUpdate(id, payload.readUInt32BE(0) & LARGEST_WINDOW);
      }
      default:
        return this.ofConnection(type, flags, id, payload);
    }
  }

  private headers(flags: number, id: number, payload: Buffer): void {
    demand(id !== 0, ErrorCode.Protocol);
    let block = unpadded(flags, payload);
    if (flags & Flag.Priority) {
      demand(block.length >= PRIORITY_BYTES, ErrorCode.FrameSize);
      demand((block.readUInt32BE(0) & LARGEST_WINDOW) !== id, ErrorCode.Protocol);
      block = block.subarray(PRIORITY_BYTES);
    }
    const isLast = (flags & Flag.EndStream) !== 0;
    if (flags & Flag.EndHeaders) this.target.onHeaders(id, block, isLast);
    else this.hold((this.block = { id, isLast, pieces: [], bytes: 0 }), block);
  }

  private continuation(flags: number, payload: Buffer): void {
    const { block } = this;
    if (block === undefined) throw new ConnectionError(ErrorCode.Protocol);
    this.hold(block, payload);
    if (!(flags & Flag.EndHeaders)) return;
    this.close();
    this.target.onHeaders(block.id, Buffer.concat(block.pieces), block.isLast);
  }

  private hold(block: HeldBlock, piece: Buffer): void {
    const fits = block.bytes + piece.length <= this.mostBlockBytes && block.pieces.length < MOST_PIECES;
    demand(fits && this.held.take(piece.length), ErrorCode.EnhanceYourCalm);
    block.pieces.push(piece);
    block.bytes += piece.length;
  }

  private ofConnection(type: number, flags: number, id: number, payload: Buffer): void {
    switch (type) {
      case FrameType.Settings:
        demand(id === 0, ErrorCode.Protocol);
        return this.settings((flags & Flag.Ack) !== 0, payload);
      case FrameType.Ping:
        demand(id === 0, ErrorCode.Protocol);
        demand(payload.length === PING_BYTES, ErrorCode.FrameSize);
        return flags & Flag.Ack ? this.target.onPong() : this.target.onPing(payload);
      case FrameType.GoAway:
        demand(id === 0, ErrorCode.Protocol);
        return this.target.onGoAway();
      case FrameType.Priority:
        demand(id !== 0, ErrorCode.Protocol);
        demand(payload.length === PRIORITY_BYTES, ErrorCode.FrameSize);
        return demand((payload.readUInt32BE(0) & LARGEST_WINDOW) !== id, ErrorCode.Protocol);
      case FrameType.PushPromise:
        throw new ConnectionError(ErrorCode.Protocol);
      default:
      // Kinds that we do not know are passed over.
    }
  }

  private settings(isAck: boolean, payload: Buffer): void {
    demand(isAck ? payload.length === 0 : payload.length % SETTING_BYTES === 0, ErrorCode.FrameSize);
    demand(payload.length <= MOST_SETTINGS * SETTING_BYTES, ErrorCode.EnhanceYourCalm);
    this.isSet = true;
    if (!isAck) this.target.onSettings(pairsIn(payload));
  }
}

function* pairsIn(payload: Buffer): Generator<readonly [setting: number, value: number]> {
  for (let at = 0; at < payload.length; at += SETTING_BYTES) yield [payload.readUInt16BE(at), payload.readUInt32BE(at + 2)];
}

function unpadded(flags: number, payload: Buffer): Buffer {
  if (!(flags & Flag.Padded)) return payload;
  const padding = payload[0];
  if (padding === undefined) throw new ConnectionError(ErrorCode.FrameSize);
  demand(padding < payload.length, ErrorCode.Protocol);
  return payload.subarray(1, payload.length - padding);
}

function demand(isSo: boolean, code: ErrorCode): void {
  if (!isSo) throw new ConnectionError(code);
}
