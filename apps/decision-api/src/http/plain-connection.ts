import type { Socket } from 'node:net';
import { EndOfTurn, handOver, unlessRead } from '#edge';
import { beginsWith, bodyStart, bytesToCome, type PlainHead, plainHead } from './plain-head.js';

export interface PlainConnectionOptions {
  /** Serves a request whose path it knows, and calls `answered` on the connection once, perhaps before it returns. False: it is nobody's here. */
  readonly serve: (head: PlainHead, body: Buffer, connection: PlainConnection) => boolean;
  /** Has everything that comes from now on, and what has not been served. */
  readonly handOver: (socket: Socket) => void;
  /** A request was not sent in time. */
  readonly late: (socket: Socket) => void;
  /** The caller has ended in the middle of a request. */
  readonly broken: (socket: Socket) => void;
  readonly firstRequestMs: number;
  readonly keepAliveMs: number;
}

interface WaitingAnswer {
  readonly connection: PlainConnection;
  readonly text: string;
  readonly encoding: 'utf8' | 'latin1';
  readonly closes: boolean;
}

/** Of all connections. */
const ANSWERS = new EndOfTurn<WaitingAnswer>((answer) => answer.connection.write(answer));

/**
 * The requests of one connection, as long as they come one by one, each whole in one piece, or in one for its head and one for its body, and without anything unusual: what nearly all callers of an API
 * on their own network send. It costs half of what a request costs that goes through the streams of node:http. With the first request of another kind the connection becomes
 * one of node:http, for good, and that request is read there from its first byte.
 */
export class PlainConnection {
  private isBusy = false;
  private hasEnded = false;
  /** Most callers send the same head again and again. */
  private lastHead: PlainHead | undefined;
  /** Of a request whose body has not begun to come: many clients send one after the other. */
  private head: Buffer | undefined;

  constructor(
    private readonly socket: Socket,
    private readonly options: PlainConnectionOptions,
  ) {
    socket.setTimeout(options.firstRequestMs);
    socket.on('data', this.onData).on('end', this.onEnd).on('timeout', this.onTimeout).on('error', this.onError);
  }

  /** @param text what is written on the connection, in UTF-8, or one byte to a character */
  answered(text: string, encoding: 'utf8' | 'latin1', closes: boolean): void {
    ANSWERS.add({ connection: this, text, encoding, closes });
  }

  /** @internal */
  write({ text, encoding, closes }: WaitingAnswer): void {
    const { socket } = this;
    if (socket.destroyed) return;
    const isTaken = socket.write(text, encoding);
    if (closes) socket.destroySoon();
    // A caller that reads no answers is asked for no more requests.
    else if (isTaken) this.goOn();
    else socket.once('drain', () => this.goOn());
  }

  private goOn(): void {
    const { socket } = this;
    this.isBusy = false;
    if (this.hasEnded) socket.end();
    else if (socket.isPaused()) socket.resume();
  }

  private readonly onData = (chunk: Buffer): void => {
    const { socket } = this;
    if (this.isBusy) {
      // Comes again when the answer is written: answers go out in the order of their requests.
      socket.pause();
      socket.unshift(chunk);
      return;
    }
    const pieces = this.head === undefined ? chunk : Buffer.concat([this.head, chunk]);
    if (!this.served(pieces)) this.leave(pieces);
  };

  private served(chunk: Buffer): boolean {
    const { lastHead } = this;
    const head = lastHead !== undefined && beginsWith(chunk, lastHead) ? lastHead : plainHead(chunk);
    if (head === undefined) return false;
    const toCome = bytesToCome(chunk, head);
    const bodyAt = bodyStart(chunk, head);
    if (toCome > 0 && bodyAt === chunk.length) return this.keep(chunk);
    if (toCome !== 0) return false;
    this.isBusy = true;
    if (this.options.serve(head, chunk.subarray(bodyAt), this)) {
      if (lastHead === undefined || this.head !== undefined) this.socket.setTimeout(this.options.keepAliveMs);
      this.head = undefined;
      this.lastHead = head;
      return true;
    }
    this.isBusy = false;
    return false;
  }

  /** For as long as the first request may take, and without a byte of a body: those are counted. What comes in more pieces is left to node. */
  private keep(head: Buffer): true {
    this.head = head;
    this.socket.setTimeout(this.options.firstRequestMs);
    return true;
  }

  private leave(chunk: Buffer): void {
    const { socket } = this;
    socket.off('data', this.onData).off('end', this.onEnd).off('timeout', this.onTimeout).off('error', this.onError);
    handOver(socket, chunk, this.options.handOver);
  }

  private readonly onEnd = (): void => {
    this.hasEnded = true;
    if (this.head !== undefined) this.options.broken(this.socket);
    else if (!this.isBusy) this.socket.end();
  };

  private readonly onTimeout = (): void => {
    unlessRead(this.socket, () => {
      if (this.lastHead === undefined || this.head !== undefined) this.options.late(this.socket);
      else this.socket.destroy();
    });
  };

  /** The connection closes, which is all that there is to do. */
  private readonly onError = (): void => {};
}
