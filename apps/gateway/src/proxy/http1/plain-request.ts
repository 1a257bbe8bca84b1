import { EventEmitter } from 'node:events';
import type { ClientRequest } from '../messages/client-message.js';
import type { PlainHead } from './plain-head.js';

const NONE: readonly string[] = [];

/** A request whose head was plain. Its body has a length, and comes as its connection reads it. */
export class PlainRequest extends EventEmitter implements ClientRequest {
  readonly httpVersion = '1.1';
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly rawTrailers = NONE;
  readableEnded = false;

  /** Of the body, in bytes. */
  private missing: number;
  private held: Buffer[] = [];
  private isFlowing = false;
  /** By `pause`, and not only because nobody has listened yet. */
  private isPaused = false;
  private isUnwanted = false;
  private willFlow = false;

  /** @param onRead told when there is nothing left that was held back */
  constructor(
    head: PlainHead,
    private readonly onRead: () => void,
  ) {
    super();
    this.method = head.method;
    this.url = head.target;
    this.rawHeaders = head.rawHeaders;
    this.missing = head.bodyLength;
  }

  get complete(): boolean {
    return this.missing === 0;
  }

  /** Whether nothing more of it should be read for now. */
  get isHeldBack(): boolean {
    return this.held.length > 0 && this.missing > 0;
  }

  /** @returns what is behind the body; empty as a rule */
  receive(chunk: Buffer): Buffer {
    const part = chunk.length > this.missing ? chunk.subarray(0, this.missing) : chunk;
    this.missing -= part.length;
    if (part.length > 0 && !this.isUnwanted) this.held.push(part);
    this.flow();
    return part.length === chunk.length ? NOTHING : chunk.subarray(part.length);
  }

  /** Nobody wants to know what is left of it. */
  dump(): void {
    this.isUnwanted = true;
    this.held = [];
    this.onRead();
  }

  /** Its connection is gone. */
  gone(): void {
    this.emit('close');
  }

  override on(event: string, listener: (...args: never[]) => void): this {
    super.on(event, listener as () => void);
    if (event === 'data' && !this.isPaused) this.resume();
    return this;
  }

  read(): Buffer | null {
    if (this.held.length === 0) return null;
    const all = this.held.length === 1 ? this.held[0]! : Buffer.concat(this.held);
    this.held = [];
    this.readableEnded = this.missing === 0;
    this.onRead();
    return all;
  }

  pause(): void {
    this.isPaused = true;
    this.isFlowing = false;
  }

  /** As of a stream, what is there comes after those who asked have finished. */
  resume(): void {
    this.isPaused = false;
    this.isFlowing = true;
    if (this.willFlow) return;
    this.willFlow = true;
    process.nextTick(flowLater, this);
  }

  flow(): void {
    this.willFlow = false;
    while (this.isFlowing && this.held.length > 0) this.emit('data', this.held.shift());
    if (!this.isFlowing || this.held.length > 0) return;
    if (this.missing > 0) this.onRead();
    else if (!this.readableEnded) {
      this.readableEnded = true;
      this.emit('end');
    }
  }
}

const NOTHING = Buffer.alloc(0);

function flowLater(request: PlainRequest): void {
  request.flow();
}
