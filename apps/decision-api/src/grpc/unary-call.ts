import type { StreamUser, Http2Stream } from '../http2/http2-stream.js';
import type { BodyBudget } from '../http/request-body.js';
import type { CallHead } from './call-head.js';
import { Deadline, deadlinePassed } from './deadline.js';
import { framed, HEAD_BLOCK, OK_BLOCK, refusalBlock } from './grpc-blocks.js';
import { GrpcCode, GrpcError } from './grpc-error.js';
import { MESSAGE_HEAD_BYTES, messageIn, MessageReader, type MessageReaderOptions, unreadable } from './message-reader.js';

/** Ends a call: with its answer, or with why there is none. */
export type Answered = (outcome: object | GrpcError) => void;

/** How messages of a method are read and written, and who answers them. */
export interface UnaryMethod {
  /** @throws Error */
  readonly read: (bytes: Buffer) => object;
  readonly write: (message: object) => Uint8Array;
  /** Calls back once, perhaps before it returns. */
  readonly answer: (request: object, call: UnaryCall, answered: Answered) => void;
}

/** What the calls of one connection have in common. */
export interface CallerConnection {
  /** Remote address, in canonical text. */
  readonly peer: string;
  /** Who made the last call, and what it has shown. */
  known: { readonly authorization: string | undefined; readonly token: string | undefined; readonly caller: string } | undefined;
}

export interface UnaryCallOptions {
  readonly method: UnaryMethod;
  readonly head: CallHead;
  /** Milliseconds until its deadline. */
  readonly withinMs: number;
  readonly connection: CallerConnection;
  /** Of its message. */
  readonly mostBytes: number;
  readonly budget: BodyBudget;
  /** What a caller is told of a failure. */
  readonly errorOf: (error: unknown) => GrpcError;
}

/** A call of one message, which has one answer. */
export class UnaryCall implements StreamUser {
  private readonly deadline: Deadline;
  /** Of a message that comes in several pieces. */
  private reader: MessageReader | undefined;
  private message: Buffer | undefined;
  private isAnswered = false;

  constructor(
    private readonly stream: Http2Stream,
    private readonly options: UnaryCallOptions,
  ) {
    this.deadline = new Deadline(options.withinMs, () => this.fail(deadlinePassed()));
  }

  get head(): CallHead {
    return this.options.head;
  }

  get connection(): CallerConnection {
    return this.options.connection;
  }

  /** Whether nobody waits for the answer any more. */
  readonly isOver = (): boolean => this.stream.isOver || this.deadline.hasPassed;

  data(bytes: Buffer): void {
    if (this.isAnswered) return;
    try {
      // Nearly all messages come in one piece, with the end of what their callers send.
      if (this.reader === undefined && this.stream.hasEnded && isWhole(bytes)) this.message = messageIn(bytes, this.limits);
      else this.keep(bytes);
    } catch (error) {
      this.fail(error);
    }
  }

  ended(): void {
    if (this.isAnswered) return;
    try {
      const message = this.message ?? this.reader?.next();
      if (message === undefined) throw unreadable('the call ended before its message');
      if (this.reader !== undefined && this.reader.bytes > 0)
        throw new GrpcError(GrpcCode.Unimplemented, 'the call has more than one message', 'message.several');
      this.ask(message);
    } catch (error) {
      this.fail(error);
    }
  }

  closed(): void {
    this.deadline.clear();
    this.reader?.clear();
  }

  private get limits(): MessageReaderOptions {
    const { mostBytes, head, budget } = this.options;
    return { mostBytes, encoding: head.encoding, budget };
  }

  /** The size is known before the message is there. */
  private keep(bytes: Buffer): void {
    this.reader ??= new MessageReader(this.limits);
    this.reader.push(bytes);
    this.reader.demandSize();
  }

  private ask(bytes: Buffer): void {
    const { method } = this.options;
    let request: object;
    try {
      request = method.read(bytes);
    } catch {
      throw unreadable('the message cannot be read');
    }
    method.answer(request, this, (outcome) => (outcome instanceof GrpcError ? this.fail(outcome) : this.succeed(outcome)));
  }

  private succeed(message: object): void {
    if (this.deadline.wasFoundPassed) return this.fail(deadlinePassed());
    if (!this.begins()) return;
    let frame: Buffer;
    try {
      frame = framed(this.options.method.write(message));
    } catch (error) {
      this.stream.refuse(refusalBlock(this.options.errorOf(error)));
      return;
    }
    this.stream.answer(HEAD_BLOCK, frame, OK_BLOCK);
  }

  private fail(error: unknown): void {
    if (this.begins()) this.stream.refuse(refusalBlock(this.options.errorOf(error)));
  }

  /** Whether there is somebody to be answered, and nothing has been answered yet. */
  private begins(): boolean {
    if (this.isAnswered || this.stream.isOver) return false;
    this.isAnswered = true;
    return true;
  }
}

/** Whether these are the bytes of one message. */
function isWhole(bytes: Buffer): boolean {
  return bytes.length >= MESSAGE_HEAD_BYTES && bytes.readUInt32BE(1) === bytes.length - MESSAGE_HEAD_BYTES;
}
