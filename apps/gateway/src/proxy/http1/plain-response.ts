import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { httpDate } from '#edge';
import type { ClientResponse } from '../messages/client-message.js';

/** Answers without a body, whatever is written (RFC 9110, 6.4.1). */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);
/** What node writes in no header. */
const NOT_IN_HEADERS = /[^\t\x20-\x7e\x80-\xff]/;
/** A body up to this many bytes is copied next to its headers: that costs less than a write of several pieces. */
const COPIED_BODY_BYTES = 16 * 1024;

/** Where the answer goes. */
export interface PlainResponseOptions {
  readonly socket: Socket;
  /** Of a HEAD there is no body, whatever is written. */
  readonly isHead: boolean;
  readonly keepAliveTimeoutMs: number;
  /** The last byte was written. @param closes and the client was told that it was the last answer */
  readonly onOver: (closes: boolean) => void;
}

/** An answer on a connection that node:http does not look after: the same bytes that it would write. */
export class PlainResponse implements ClientResponse {
  statusCode = 0;
  readonly shouldKeepAlive = true;
  /** What was written is the socket's, which keeps the order. */
  readonly writableFinished = true;
  readonly socket: Socket;

  /** Not written yet: they go with the body. */
  private head = '';
  private closes = false;
  private hasBody = true;
  private isChunked = false;
  private isOver = false;
  private trailers = '';

  constructor(private readonly options: PlainResponseOptions) {
    this.socket = options.socket;
  }

  writeHead(status: number, headers: readonly string[]): void {
    if (status < 100 || status > 999) throw invalid('ERR_HTTP_INVALID_STATUS_CODE', `Invalid status code: ${status}`);
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
    let hasLength = false;
    let hasDate = false;
    this.closes = false;
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i]!;
      const value = headers[i + 1]!;
      if (NOT_IN_HEADERS.test(value)) throw invalid('ERR_INVALID_CHAR', `Invalid character in header content ["${name}"]`);
      head += `${name}: ${value}\r\n`;
      if (name.length === 4) hasDate ||= name.toLowerCase() === 'date';
      else if (name.length === 10) this.closes ||= name.toLowerCase() === 'connection';
      else if (name.length === 14) hasLength ||= name.toLowerCase() === 'content-length';
    }
    this.statusCode = status;
    this.hasBody = !this.options.isHead && !BODILESS.has(status);
    this.isChunked = this.hasBody && !hasLength;
    if (!hasDate) head += `Date: ${httpDate()}\r\n`;
    if (!this.closes) head += `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(this.options.keepAliveTimeoutMs / 1000)}\r\n`;
    this.head = `${head}${this.isChunked ? 'Transfer-Encoding: chunked\r\n' : ''}\r\n`;
  }

  flushHeaders(): void {
    if (this.head !== '') this.send(this.takeHead());
  }

  write(chunk: Buffer): boolean {
    if (!this.hasBody || chunk.length === 0) {
      this.flushHeaders();
      return true;
    }
    const { socket } = this;
    if (!this.isWritable) return true;
    socket.cork();
    this.flushHeaders();
    if (this.isChunked) socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1');
    const isTaken = socket.write(chunk);
    if (this.isChunked) socket.write('\r\n', 'latin1');
    socket.uncork();
    return isTaken && !socket.writableNeedDrain;
  }

  end(body?: Buffer | string): void {
    if (this.isOver) return;
    this.isOver = true;
    if (body !== undefined && body.length > 0 && this.hasBody) this.writeLast(body);
    else this.send(this.takeHead() + this.ending);
    this.options.onOver(this.closes);
  }

  once(event: 'drain' | 'finish', listener: () => void): void {
    if (event === 'drain') this.socket.once('drain', listener);
    else process.nextTick(listener);
  }

  /** Such a request expects nothing. */
  writeContinue(): void {}

  writeProcessing(): void {
    this.send('HTTP/1.1 102 Processing\r\n\r\n');
  }

  addTrailers(trailers: [string, string][]): void {
    if (this.isChunked) for (const [name, value] of trailers) this.trailers += `${name}: ${value}\r\n`;
  }

  /** @param body a string has a byte to a character */
  private writeLast(body: Buffer | string): void {
    if (this.isChunked || (typeof body !== 'string' && body.length > COPIED_BODY_BYTES)) {
      this.write(typeof body === 'string' ? Buffer.from(body, 'latin1') : body);
      this.send(this.ending);
    } else this.send(this.takeHead() + (typeof body === 'string' ? body : body.toString('latin1')));
  }

  private get ending(): string {
    return this.isChunked ? `0\r\n${this.trailers}\r\n` : '';
  }

  private takeHead(): string {
    const { head } = this;
    this.head = '';
    return head;
  }

  private get isWritable(): boolean {
    return !this.socket.destroyed && !this.socket.writableEnded;
  }

  private send(text: string): void {
    if (text !== '' && this.isWritable) this.socket.write(text, 'latin1');
  }
}

function invalid(code: string, message: string): Error {
  return Object.assign(new TypeError(message), { code });
}
