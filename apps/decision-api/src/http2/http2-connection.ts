import type { Socket } from 'node:net';
import { Allowance } from '#limiter';
import { ConnectionError } from './connection-error.js';
import { ConnectionWindow } from './connection-window.js';
import { FrameWriter } from './frame-writer.js';
import { FrameReader, type FrameTarget, type HeldBytes } from './frame-reader.js';
import {
  ErrorCode,
  FIRST_FRAME_BYTES,
  FIRST_WINDOW,
  Flag,
  frame,
  FrameType,
  LARGEST_FRAME_BYTES,
  LARGEST_WINDOW,
  numbersFrame,
  Setting,
  settingsFrame,
} from './frames.js';
import { Http2Stream, type StreamCarrier, type StreamUser } from './http2-stream.js';
import { areTrailers, type RequestHead } from './request-head.js';
import { RequestHeads } from './request-heads.js';
import { type ConnectionSilence, Silence } from './silence.js';

export interface Http2ConnectionOptions<Head> {
  /** What is made of a head, once for as many requests as have the same. */
  readonly headOf: (head: RequestHead) => Head;
  /** Answers a stream. Undefined: it has been answered. */
  readonly open: (stream: Http2Stream, head: Head) => StreamUser | undefined;
  /** The headers with which a stream is refused that has too large ones. */
  readonly headersTooLarge: Buffer;
  /** Where headers in several pieces are counted until they are whole. */
  readonly held: HeldBytes;
  readonly mostStreams: number;
  /** Bytes of a stream that may come before they are used. */
  readonly streamWindow: number;
  readonly silence: ConnectionSilence;
  /** Told of a mistake of ours, which ends the connection and nothing else. */
  readonly failed: (error: unknown) => void;
}

/** Of the headers of a stream, as a table counts its fields. */
export const MOST_HEADER_BYTES = 64 * 1024;
/** So much of them is read all the same, for what it says of the table: then a stream with too many ends alone, and not its connection with all that others ask there. */
const MOST_BLOCK_BYTES = 4 * MOST_HEADER_BYTES;
/** Streams that a caller ends before they are answered, or makes us end: at once, and a second. Callers whose deadlines pass end some. */
const RESETS = [1_000, 500] as const;
/** How long a caller may take to read what was said last. */
const LAST_WORDS_MS = 5_000;

/**
 * The server's side of a connection of HTTP/2 (RFC 9113), for what gRPC needs of it: no push, no priorities, no table for the headers that it writes.
 */
export class Http2Connection<Head> implements StreamCarrier, FrameTarget {
  mostFrameBytes = FIRST_FRAME_BYTES;
  sendWindow = FIRST_WINDOW;
  private readonly reader: FrameReader;
  private readonly heads: RequestHeads<Head>;
  private readonly writer: FrameWriter;
  private readonly window = new ConnectionWindow((bytes) => this.write(numbersFrame(FrameType.WindowUpdate, 0, bytes)));
  private readonly resets = new Allowance(...RESETS, performance.now());
  private readonly silence: Silence;
  private readonly streams = new Map<number, Http2Stream>();
  /** Streams that the caller has to make room for. */
  private readonly waiting = new Set<Http2Stream>();
  private firstWindow = FIRST_WINDOW;
  private lastStream = 0;
  private isLeaving = false;

  constructor(
    private readonly socket: Socket,
    private readonly options: Http2ConnectionOptions<Head>,
  ) {
    this.reader = new FrameReader(this, MOST_BLOCK_BYTES, options.held);
    this.heads = new RequestHeads(MOST_HEADER_BYTES, options.headOf);
    this.writer = new FrameWriter(socket);
    this.silence = new Silence(options.silence, {
      ask: () => this.write(frame(FrameType.Ping, 0, 0, Buffer.alloc(8))),
      isIdle: () => this.streams.size === 0,
      leave: () => this.leave(),
      cut: () => socket.destroy(),
    });
    // An error ends the connection, and behind its end nobody reads answers.
    socket.on('data', this.onChunk).on('close', this.onClose);
    socket.on('error', () => {}).on('end', () => socket.destroy());
    this.write(
      settingsFrame([
        [Setting.MostStreams, options.mostStreams],
        [Setting.InitialWindow, options.streamWindow],
        [Setting.MostHeaderBytes, MOST_HEADER_BYTES],
      ]),
    );
    this.window.open();
  }

  /** What is under way is finished; what comes from now on is for others to answer. */
  leave(): void {
    if (this.isLeaving) return;
    this.isLeaving = true;
    this.write(numbersFrame(FrameType.GoAway, 0, this.lastStream, ErrorCode.None));
    this.endIfDone();
  }

  write(bytes: Buffer): void {
    this.writer.write(bytes);
  }

  over(stream: Http2Stream): void {
    this.streams.delete(stream.id);
    this.waiting.delete(stream);
    if (this.streams.size > 0) return;
    this.silence.idle();
    this.endIfDone();
  }

  waits(stream: Http2Stream): void {
    this.waiting.add(stream);
  }

  onData(id: number, data: Buffer, wholeBytes: number, isLast: boolean): void {
    if (id > this.lastStream) throw new ConnectionError(ErrorCode.Protocol);
    this.window.came(wholeBytes);
    const stream = this.streams.get(id);
    // A caller may have sent it before it knew that the stream was over.
    if (stream === undefined) return;
    stream.receiveWindow -= wholeBytes;
    const fault = faultOfData(stream, data.length, isLast);
    if (fault !== undefined) return this.resetFor(stream, fault);
    stream.hasEnded = isLast;
    if (data.length > 0) stream.user?.data(data);
    if (wholeBytes > data.length) stream.used(wholeBytes - data.length);
    if (isLast) end(stream);
  }

  onHeaders(id: number, block: Buffer, isLast: boolean): void {
    if (id <= this.lastStream) return this.onTrailers(id, block, isLast);
    if (id % 2 === 0) throw new ConnectionError(ErrorCode.Protocol);
    this.lastStream = id;
    const known = this.heads.read(block);
    const stream = new Http2Stream(id, this, this.options.streamWindow, this.firstWindow);
    this.streams.set(id, stream);
    if (typeof known === 'number') return this.resetFor(stream, known);
    if (known === 'too_large') return this.refuse(stream, this.options.headersTooLarge);
    if (this.isLeaving || this.streams.size > this.options.mostStreams) return this.resetFor(stream, ErrorCode.RefusedStream);
    if (isLast && known.length > 0) return this.resetFor(stream, ErrorCode.Protocol);
    stream.toCome = known.length;
    stream.user = this.options.open(stream, known.head);
    if (isLast) end(stream);
  }

  private onTrailers(id: number, block: Buffer, isLast: boolean): void {
    const fields = this.heads.fieldsOf(block);
    const stream = this.streams.get(id);
    if (stream === undefined) throw new ConnectionError(ErrorCode.StreamClosed);
    if (stream.hasEnded) return this.resetFor(stream, ErrorCode.StreamClosed);
    if (!isLast || stream.toCome > 0 || fields === undefined || !areTrailers(fields)) return this.resetFor(stream, ErrorCode.Protocol);
    end(stream);
  }

  onReset(id: number): void {
    if (id > this.lastStream) throw new ConnectionError(ErrorCode.Protocol);
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    this.demandPatience();
    stream.over();
  }

  onWindowUpdate(id: number, bytes: number): void {
    if (id > this.lastStream) throw new ConnectionError(ErrorCode.Protocol);
    const stream = this.streams.get(id);
    if (id !== 0 && stream === undefined) return;
    const window = stream ?? this;
    const isTooMuch = window.sendWindow + bytes > LARGEST_WINDOW;
    if (bytes === 0 || isTooMuch) {
      const code = isTooMuch ? ErrorCode.FlowControl : ErrorCode.Protocol;
      if (stream === undefined) throw new ConnectionError(code);
      return this.resetFor(stream, code);
    }
    window.sendWindow += bytes;
    this.goOn();
  }

  onSettings(pairs: Iterable<readonly [setting: number, value: number]>): void {
    for (const [setting, value] of pairs) this.set(setting, value);
    this.silence.answered();
    this.write(frame(FrameType.Settings, Flag.Ack, 0, Buffer.alloc(0)));
    this.goOn();
  }

  onPing(payload: Buffer): void {
    this.write(frame(FrameType.Ping, Flag.Ack, 0, payload));
  }

  onPong(): void {
    this.silence.answered();
  }

  onGoAway(): void {
    this.leave();
  }

  private set(setting: number, value: number): void {
    if (setting === Setting.EnablePush && value > 1) throw new ConnectionError(ErrorCode.Protocol);
    if (setting === Setting.MostFrameBytes) {
      if (value < FIRST_FRAME_BYTES || value > LARGEST_FRAME_BYTES) throw new ConnectionError(ErrorCode.Protocol);
      this.mostFrameBytes = value;
    }
    if (setting !== Setting.InitialWindow) return;
    if (value > LARGEST_WINDOW) throw new ConnectionError(ErrorCode.FlowControl);
    for (const stream of this.streams.values()) {
      stream.sendWindow += value - this.firstWindow;
      if (stream.sendWindow > LARGEST_WINDOW) throw new ConnectionError(ErrorCode.FlowControl);
    }
    this.firstWindow = value;
  }

  private goOn(): void {
    if (this.waiting.size === 0) return;
    const waiting = [...this.waiting];
    this.waiting.clear();
    for (const stream of waiting) stream.opened();
  }

  private resetFor(stream: Http2Stream, code: ErrorCode): void {
    this.demandPatience();
    stream.reset(code);
  }

  private refuse(stream: Http2Stream, block: Buffer): void {
    this.demandPatience();
    stream.refuse(block);
  }

  private demandPatience(): void {
    if (!this.resets.take(performance.now())) throw new ConnectionError(ErrorCode.EnhanceYourCalm);
  }

  private readonly onChunk = (chunk: Buffer): void => {
    try {
      this.reader.read(chunk);
    } catch (error) {
      const isTheirs = error instanceof ConnectionError;
      if (!isTheirs) this.options.failed(error);
      this.fail(isTheirs ? error.code : ErrorCode.Internal);
    }
  };

  /** Says why, and closes. What was under way has nobody to be answered to. */
  private fail(code: ErrorCode): void {
    const { socket } = this;
    this.isLeaving = true;
    this.write(numbersFrame(FrameType.GoAway, 0, this.lastStream, code));
    this.writer.flush();
    // Reads on, so that the caller reads why.
    socket.off('data', this.onChunk).resume();
    this.onClose();
    this.endSoon();
  }

  private readonly onClose = (): void => {
    this.silence.close();
    this.reader.close();
    for (const stream of [...this.streams.values()]) stream.over();
  };

  private endIfDone(): void {
    if (this.isLeaving && this.streams.size === 0) process.nextTick(() => this.endSoon());
  }

  private endSoon(): void {
    const { socket } = this;
    if (socket.destroyed) return;
    socket.destroySoon();
    const cut = setTimeout(() => socket.destroy(), LAST_WORDS_MS);
    socket.once('close', () => clearTimeout(cut));
  }
}

function faultOfData(stream: Http2Stream, bytes: number, isLast: boolean): ErrorCode | undefined {
  if (stream.hasEnded) return ErrorCode.StreamClosed;
  if (stream.receiveWindow < 0) return ErrorCode.FlowControl;
  if (stream.toCome < 0) return undefined;
  stream.toCome -= bytes;
  return stream.toCome < 0 || (isLast && stream.toCome > 0) ? ErrorCode.Protocol : undefined;
}

/** The caller has sent all. */
function end(stream: Http2Stream): void {
  stream.hasEnded = true;
  if (!stream.isOver) stream.user?.ended();
}
