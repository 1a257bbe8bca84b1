import { errors } from 'undici';
import { type Llhttp, openLlhttp } from './llhttp.js';

/** Is told of an answer as it is read. What it throws ends the reading. */
export interface AnswerListener {
  /** An answer begins, whether anybody has asked or not. */
  answerBegins(): void;
  /**
   * @param rawHeaders names and values alternating
   * @param keepsAlive whether the connection can go on behind the answer
   * @returns whether a body may follow
   */
  headRead(head: { status: number; rawHeaders: Buffer[]; isUpgrade: boolean; keepsAlive: boolean }): boolean;
  /** @returns false: no more for now */
  bodyRead(chunk: Buffer): boolean;
  /** @param trailers names and values alternating */
  answerEnds(trailers: Buffer[]): void;
}

const RESPONSE = 2;
const [OK, PAUSED, FAILED] = [0, 21, -1];
const SKIP_BODY = 1;
const MOST_HEADER_BYTES = 16 * 1024;
const PAGE_BYTES = 4_096;
const NOTHING = Buffer.alloc(0);

/** The parser that is at work, and what it reads: the module tells of addresses. */
let reading: AnswerParser;
let chunkRead: Buffer = NOTHING;
let chunkBytes = 0;
let chunkAt = 0;

/** One for all: it reads one chunk at a time. */
const llhttp: Llhttp = openLlhttp({
  wasm_on_message_begin: () => reading.began(),
  wasm_on_header_field: (_, at, length) => reading.name(at - chunkAt, length),
  wasm_on_header_value: (_, at, length) => reading.value(at - chunkAt, length),
  wasm_on_headers_complete: (_, status, upgrade, keepsAlive) => reading.head(status, upgrade === 1, keepsAlive === 1),
  wasm_on_body: (_, at, length) => reading.body(at - chunkAt, length),
  wasm_on_message_complete: () => reading.complete(),
});

/** Reads the answers on one connection to an upstream with llhttp, as strictly as undici does. */
export class AnswerParser {
  private readonly address = llhttp.llhttp_alloc(RESPONSE);
  private headers: Buffer[] = [];
  private headerBytes = 0;
  private error: Error | undefined;

  constructor(private readonly listener: AnswerListener) {}

  /**
   * @returns what could not be read because the listener wants no more for now; undefined: everything was read
   * @throws what the listener has thrown, or what is wrong with the answer
   */
  read(chunk: Buffer): Buffer | undefined {
    copy(chunk);
    readWith(this);
    chunkRead = chunk;
    const result = llhttp.llhttp_execute(this.address, chunkAt, chunk.length);
    chunkRead = NOTHING;
    if (result === OK) return undefined;
    const at = llhttp.llhttp_get_error_pos(this.address) - chunkAt;
    if (result === PAUSED && this.error === undefined) return chunk.subarray(at);
    throw this.error ?? this.parserError();
  }

  /** The listener wants more. @param rest what was left over */
  readOn(rest: Buffer): Buffer | undefined {
    llhttp.llhttp_resume(this.address);
    return this.read(rest);
  }

  /** The upstream sends nothing more, which may be the end of an answer. @throws if it is not */
  finish(): void {
    readWith(this);
    if (llhttp.llhttp_finish(this.address) !== OK) throw this.error ?? this.parserError();
  }

  /** It reads nothing after that. */
  free(): void {
    llhttp.llhttp_free(this.address);
  }

  began(): number {
    return this.attempt(() => {
      this.listener.answerBegins();
      return OK;
    });
  }

  name(at: number, length: number): number {
    return this.header(0, at, length);
  }

  value(at: number, length: number): number {
    return this.header(1, at, length);
  }

  head(status: number, isUpgrade: boolean, keepsAlive: boolean): number {
    const rawHeaders = this.takeHeaders();
    return this.attempt(() => (this.listener.headRead({ status, rawHeaders, isUpgrade, keepsAlive }) ? OK : SKIP_BODY));
  }

  body(at: number, length: number): number {
    return this.attempt(() => (this.listener.bodyRead(chunkRead.subarray(at, at + length)) ? OK : PAUSED));
  }

  complete(): number {
    return this.attempt(() => {
      this.listener.answerEnds(this.takeHeaders());
      return OK;
    });
  }

  /** A part of a name (0) or of a value (1): one that lies in several chunks comes in as many parts. */
  private header(which: 0 | 1, at: number, length: number): number {
    this.headerBytes += length;
    if (this.headerBytes >= MOST_HEADER_BYTES) {
      this.error = new errors.HeadersOverflowError();
      return FAILED;
    }
    const { headers } = this;
    const part = chunkRead.subarray(at, at + length);
    if (headers.length % 2 === which) headers.push(part);
    else headers.push(Buffer.concat([headers.pop()!, part]));
    return OK;
  }

  private takeHeaders(): Buffer[] {
    const { headers } = this;
    this.headers = [];
    this.headerBytes = 0;
    return headers;
  }

  /** Nothing may be thrown through the module: it would not tidy up behind it. */
  private attempt(work: () => number): number {
    try {
      return work();
    } catch (error) {
      this.error = error as Error;
      return FAILED;
    }
  }

  private parserError(): Error {
    const at = llhttp.llhttp_get_error_reason(this.address);
    const text = Buffer.from(llhttp.memory.buffer, at);
    return new errors.HTTPParserError(`the answer is not HTTP/1.1: ${text.toString('latin1', 0, text.indexOf(0))}`);
  }
}

function readWith(parser: AnswerParser): void {
  reading = parser;
}

/** Where the module can read it. */
function copy(chunk: Buffer): void {
  if (chunk.length > chunkBytes) {
    if (chunkBytes > 0) llhttp.free(chunkAt);
    chunkBytes = Math.ceil(chunk.length / PAGE_BYTES) * PAGE_BYTES;
    chunkAt = llhttp.malloc(chunkBytes);
  }
  // Its memory is another one when it has grown.
  new Uint8Array(llhttp.memory.buffer, chunkAt, chunkBytes).set(chunk);
}
