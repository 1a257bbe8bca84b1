import type { Http2Stream, StreamUser } from '../http2/http2-stream.js';
import type { BodyBudget } from '../http/request-body.js';
import type { CallHead } from './call-head.js';
import { Deadline, deadlinePassed } from './deadline.js';
import { framed, HEAD_BLOCK, OK_BLOCK, refusalBlock, statusBlock } from './grpc-blocks.js';
import type { GrpcError } from './grpc-error.js';
import { MessageReader, unreadable } from './message-reader.js';
import type { CallerConnection } from './unary-call.js';

/** What answers the messages of a stream. */
export interface StreamHandler {
  /** What it resolves with is sent, in any order; undefined: nothing is. Rejects with what ends the stream. */
  message(request: object): Promise<object | undefined>;
  /** The caller sends no more. Without this, the stream ends when all of its messages are answered. */
  ended?(): void;
  closed?(): void;
}

export interface StreamMethod {
  /** @throws Error */
  readonly read: (bytes: Buffer) => object;
  readonly write: (message: object) => Uint8Array;
  /** @throws what `errorOf` knows */
  readonly open: (call: StreamedCall) => StreamHandler;
}

export interface StreamedCallOptions {
  readonly method: StreamMethod;
  readonly head: CallHead;
  readonly withinMs: number;
  readonly connection: CallerConnection;
  /** Of a message. */
  readonly mostBytes: number;
  readonly budget: BodyBudget;
  readonly errorOf: (error: unknown) => GrpcError;
  readonly closed: () => void;
}

/** Messages of one stream at once: whoever does not read answers has to wait here. */
const MOST_OF_A_STREAM = 64;

/** A call of many messages. It is never further ahead than MOST_OF_A_STREAM: then nothing is read, and the window of the stream fills. */
export class StreamedCall implements StreamUser {
  private readonly deadline: Deadline;
  private readonly reader: MessageReader;
  private handler: StreamHandler | undefined;
  private underWay = 0;
  private hasResponded = false;
  private isBlocked = false;
  /** Nothing more is answered. */
  private isDone = false;
  /** No further message is begun; with this it ends when those that are have their answers. */
  private leaving: GrpcError | undefined;

  constructor(
    private readonly stream: Http2Stream,
    private readonly options: StreamedCallOptions,
  ) {
    const { mostBytes, head, budget, withinMs } = options;
    this.reader = new MessageReader({ mostBytes, encoding: head.encoding, budget });
    this.deadline = new Deadline(withinMs, () => this.fail(deadlinePassed()));
  }

  get head(): CallHead {
    return this.options.head;
  }

  get connection(): CallerConnection {
    return this.options.connection;
  }

  readonly isOver = (): boolean => this.isDone || this.stream.isOver || this.deadline.hasPassed;

  /** Has to come first. */
  open(): void {
    try {
      this.handler = this.options.method.open(this);
    } catch (error) {
      this.fail(error);
    }
  }

  data(bytes: Buffer): void {
    if (this.isDone) return;
    try {
      this.reader.push(bytes);
    } catch (error) {
      this.fail(error);
    }
    this.goOn();
  }

  ended(): void {
    this.goOn();
    this.handler?.ended?.();
  }

  drained(): void {
    this.isBlocked = false;
    this.goOn();
  }

  closed(): void {
    this.isDone = true;
    this.deadline.clear();
    this.reader.clear();
    this.handler?.closed?.();
    this.options.closed();
  }

  send(message: object): void {
    if (this.isDone) return;
    if (this.deadline.wasFoundPassed) return this.fail(deadlinePassed());
    try {
      const frame = framed(this.options.method.write(message));
      if (!this.hasResponded) this.stream.respond(HEAD_BLOCK);
      this.hasResponded = true;
      if (!this.stream.write(frame)) this.isBlocked = true;
    } catch (error) {
      this.fail(error);
    }
  }

  end(): void {
    if (this.isDone) return;
    this.isDone = true;
    if (!this.hasResponded) this.stream.respond(HEAD_BLOCK);
    this.stream.end(OK_BLOCK);
  }

  fail(error: unknown): void {
    if (this.isDone) return;
    this.isDone = true;
    const known = this.options.errorOf(error);
    if (this.hasResponded) this.stream.end(statusBlock(known));
    else this.stream.refuse(refusalBlock(known));
  }

  /** Ends as soon as what was begun is answered: it is decided and charged already. */
  leave(why: GrpcError): void {
    this.leaving = why;
    this.endIfDone();
  }

  private goOn(): void {
    try {
      while (this.mayBegin) {
        const before = this.reader.bytes;
        const message = this.reader.next();
        if (message === undefined) break;
        this.stream.used(before - this.reader.bytes);
        this.begin(message);
      }
      this.endIfDone();
    } catch (error) {
      this.fail(error);
    }
  }

  private get mayBegin(): boolean {
    return !this.isDone && !this.isBlocked && this.leaving === undefined && this.underWay < MOST_OF_A_STREAM;
  }

  private begin(bytes: Buffer): void {
    let request: object;
    try {
      request = this.options.method.read(bytes);
    } catch {
      throw unreadable('a message cannot be read');
    }
    this.underWay++;
    const over = (): void => {
      this.underWay--;
      this.goOn();
    };
    this.handler!.message(request).then(
      (answer) => {
        if (answer !== undefined) this.send(answer);
        over();
      },
      (error: unknown) => {
        this.fail(error);
        over();
      },
    );
  }

  private endIfDone(): void {
    if (this.isDone || this.underWay > 0) return;
    if (this.leaving !== undefined) return this.fail(this.leaving);
    if (!this.stream.hasEnded || this.isBlocked) return;
    if (this.reader.bytes > 0) throw unreadable('the call ended in the middle of a message');
    if (this.handler?.ended === undefined) this.end();
  }
}
