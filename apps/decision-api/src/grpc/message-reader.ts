import { gunzipSync, inflateSync } from 'node:zlib';
import type { BodyBudget } from '../http/request-body.js';
import { tooManyBodies } from '../problems.js';
import { GrpcCode, GrpcError } from './grpc-error.js';

export const MESSAGE_HEAD_BYTES = 5;
const UNPACKED_BY = { gzip: gunzipSync, deflate: inflateSync } as const;

export interface MessageReaderOptions {
  /** Of a message, also once it is unpacked. */
  readonly mostBytes: number;
  /** How messages are compressed that are marked so. */
  readonly encoding: string;
  /** Of what is kept until it is whole. */
  readonly budget: BodyBudget;
}

/** Messages from the pieces in which they come. What is kept of them is counted. */
export class MessageReader {
  private pieces: Buffer[] = [];
  private kept = 0;

  constructor(private readonly options: MessageReaderOptions) {}

  /** What has come and was not read. */
  get bytes(): number {
    return this.kept;
  }

  /** @throws ProblemError too many bytes wait to become messages */
  push(piece: Buffer): void {
    if (!this.options.budget.take(piece.length)) throw tooManyBodies();
    this.pieces.push(piece);
    this.kept += piece.length;
  }

  /** The next message if it is whole. @throws GrpcError */
  next(): Buffer | undefined {
    const wholeBytes = this.demandSize();
    if (wholeBytes === undefined || this.bytes < wholeBytes) return undefined;
    const whole = this.firstBytes(wholeBytes);
    this.drop(wholeBytes);
    return messageIn(whole.subarray(0, wholeBytes), this.options);
  }

  /** Of the next message, with its head; undefined: that has not come. @throws GrpcError it is too large */
  demandSize(): number | undefined {
    if (this.bytes < MESSAGE_HEAD_BYTES) return undefined;
    const length = this.firstBytes(MESSAGE_HEAD_BYTES).readUInt32BE(1);
    if (length > this.options.mostBytes) throw tooLarge(this.options.mostBytes);
    return MESSAGE_HEAD_BYTES + length;
  }

  /** Forgets what is left. */
  clear(): void {
    this.drop(this.bytes);
  }

  /** The first piece, with so many bytes at least. */
  private firstBytes(least: number): Buffer {
    if (this.pieces[0]!.length < least) this.pieces = [Buffer.concat(this.pieces)];
    return this.pieces[0]!;
  }

  private drop(bytes: number): void {
    this.options.budget.giveBack(bytes);
    this.kept -= bytes;
    const rest = this.pieces[0]?.subarray(bytes);
    if (this.bytes === 0) this.pieces = [];
    else if (rest!.length === 0) this.pieces.shift();
    else this.pieces[0] = rest!;
  }
}

/** What stands in a whole frame of gRPC. @throws GrpcError */
export function messageIn(frame: Buffer, { encoding, mostBytes }: MessageReaderOptions): Buffer {
  const bytes = frame.subarray(MESSAGE_HEAD_BYTES);
  if (bytes.length > mostBytes) throw tooLarge(mostBytes);
  if (frame[0] === 0) return bytes;
  if (frame[0] !== 1 || encoding === 'identity') throw unreadable('a message is marked as compressed, and the call says no encoding');
  if (!(encoding in UNPACKED_BY)) throw new GrpcError(GrpcCode.Unimplemented, 'the encoding is not known', 'message.encoding_unknown');
  try {
    return UNPACKED_BY[encoding as keyof typeof UNPACKED_BY](bytes, { maxOutputLength: Math.max(1, mostBytes) });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(mostBytes);
    throw unreadable('a message cannot be unpacked');
  }
}

function tooLarge(mostBytes: number): GrpcError {
  return new GrpcError(GrpcCode.ResourceExhausted, `a message is larger than ${mostBytes} bytes`, 'message.too_large');
}

export function unreadable(detail: string): GrpcError {
  return new GrpcError(GrpcCode.Internal, detail, 'message.malformed');
}
