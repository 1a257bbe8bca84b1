import { ErrorCode, FrameType, Flag, FRAME_HEAD_BYTES, headerFrames, numbersFrame, writeHead } from './frames.js';

/** Who answers a stream. Called by its connection, never after `closed`. */
export interface StreamUser {
  /** A piece of what the caller sends. */
  data(bytes: Buffer): void;
  /** The caller has sent all. */
  ended(): void;
  /** The caller takes more, after `write` has answered false. */
  drained?(): void;
  /** The stream is over: it has been answered, or there is nobody to answer. */
  closed(): void;
}

/** What a stream needs of its connection. */
export interface StreamCarrier {
  /** Largest payload of a frame that the caller reads. */
  readonly mostFrameBytes: number;
  /** What the caller reads on the connection before it says more. */
  sendWindow: number;
  write(bytes: Buffer): void;
  /** Of its connection there is nothing left. */
  over(stream: Http2Stream): void;
  /** The stream waits until the caller takes more. */
  waits(stream: Http2Stream): void;
}

/** Half of what a caller may send unread: then it is told that more may come. */
const CREDIT_SHARE = 2;

/** One request and its answer, with what the caller takes of it. */
export class Http2Stream {
  user: StreamUser | undefined;
  /** The caller has sent all. */
  hasEnded = false;
  isOver = false;
  /** Bytes that were announced and have not come; below 0: nothing was announced. */
  toCome = -1;
  /** What the caller may still send. */
  receiveWindow: number;
  private unread = 0;
  /** What could not be sent yet: the rest of the message, and what ends the stream. */
  private queue: Buffer[] = [];
  private queued = 0;
  private trailers: Buffer | undefined;

  constructor(
    readonly id: number,
    private readonly carrier: StreamCarrier,
    private readonly window: number,
    public sendWindow: number,
  ) {
    this.receiveWindow = window;
  }

  /** Bytes that were received are not needed any more: so many more may come. */
  used(bytes: number): void {
    this.unread += bytes;
    if (this.hasEnded || this.isOver || this.unread < this.window / CREDIT_SHARE) return;
    this.receiveWindow += this.unread;
    this.carrier.write(numbersFrame(FrameType.WindowUpdate, this.id, this.unread));
    this.unread = 0;
  }

  /** A whole answer, in one piece if the caller takes it. @param block of headers @param trailers a block as well */
  answer(block: Buffer, message: Buffer, trailers: Buffer): void {
    const { carrier, id } = this;
    const { length } = message;
    if (length > this.sendWindow || length > carrier.sendWindow || length > carrier.mostFrameBytes) {
      this.respond(block);
      this.write(message);
      this.end(trailers);
      return;
    }
    const bytes = Buffer.allocUnsafe(3 * FRAME_HEAD_BYTES + block.length + length + trailers.length);
    let at = writeHead(bytes, 0, block.length, FrameType.Headers, Flag.EndHeaders, id);
    bytes.set(block, at);
    at = writeHead(bytes, at + block.length, length, FrameType.Data, 0, id);
    bytes.set(message, at);
    at = writeHead(bytes, at + length, trailers.length, FrameType.Headers, Flag.EndHeaders | Flag.EndStream, id);
    bytes.set(trailers, at);
    carrier.sendWindow -= length;
    carrier.write(bytes);
    this.over();
  }

  respond(block: Buffer): void {
    this.carrier.write(headerFrames(this.id, block, 0, this.carrier.mostFrameBytes));
  }

  /** False: the caller takes no more at the moment; what was given is kept. */
  write(message: Buffer): boolean {
    this.queue.push(message);
    this.queued += message.length;
    this.send();
    return this.queued === 0;
  }

  /** Ends the stream behind what is written. @param trailers a block of headers */
  end(trailers: Buffer): void {
    this.trailers = trailers;
    this.send();
  }

  /** Ends the stream by headers, whatever else the caller sends. */
  refuse(block: Buffer): void {
    const { carrier, id } = this;
    carrier.write(headerFrames(id, block, Flag.EndStream, carrier.mostFrameBytes));
    // What else the caller sends of the message is of no use.
    if (!this.hasEnded) carrier.write(numbersFrame(FrameType.ResetStream, id, ErrorCode.None));
    this.over();
  }

  reset(code: ErrorCode): void {
    this.carrier.write(numbersFrame(FrameType.ResetStream, this.id, code));
    this.over();
  }

  /** The caller takes more, or perhaps does. */
  opened(): void {
    if (this.queued === 0) return;
    this.send();
    if (this.queued === 0 && !this.isOver) this.user?.drained?.();
  }

  /** There is nothing more to be said. */
  over(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.queue = [];
    this.queued = 0;
    this.carrier.over(this);
    this.user?.closed();
  }

  private send(): void {
    const { carrier } = this;
    while (this.queued > 0) {
      const bytes = this.queue[0]!;
      const length = Math.min(bytes.length, this.sendWindow, carrier.sendWindow, carrier.mostFrameBytes);
      if (length <= 0) {
        carrier.waits(this);
        return;
      }
      const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + length);
      bytes.copy(frame, writeHead(frame, 0, length, FrameType.Data, 0, this.id), 0, length);
      carrier.write(frame);
      this.sendWindow -= length;
      carrier.sendWindow -= length;
      this.queued -= length;
      if (length === bytes.length) this.queue.shift();
      else this.queue[0] = bytes.subarray(length);
    }
    if (this.trailers !== undefined) this.refuse(this.trailers);
  }
}
