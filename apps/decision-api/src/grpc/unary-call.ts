import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { detailsOf, GrpcCode, GrpcError } from './grpc-error.js';

/** How messages of a method are read and written, and who answers them. */
export interface UnaryMethod {
  /** @throws Error */
  readonly read: (bytes: Buffer) => object;
  readonly write: (message: object) => Uint8Array;
  /** Rejects with nothing but a GrpcError. */
  readonly answer: (request: object, call: UnaryCall) => Promise<object>;
}

const FRAME_HEAD_BYTES = 5;
const GRPC_TYPES = new Set(['application/grpc', 'application/grpc+proto']);
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000_001 };
/** Timers of one length cost node little, so there are few lengths. */
const TIMER_STEP_MS = 10;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const HEADERS = { ':status': 200, 'content-type': 'application/grpc+proto' } as const;
const OK = { 'grpc-status': '0' } as const;

/** The deadline that a caller has set, in milliseconds from now; undefined if it cannot be read. */
export function timeoutMs(sent: string | undefined): number | undefined {
  if (sent === undefined) return Infinity;
  const [, digits, unit] = TIMEOUT.exec(sent) ?? [];
  return unit === undefined ? undefined : Number(digits) * UNIT_MS[unit]!;
}

/** Whether a call is one that needs nothing but one message and its answer. What is unusual, right or wrong, is not. */
export function isPlainCall(headers: IncomingHttpHeaders): boolean {
  const encoding = headers['grpc-encoding'] ?? 'identity';
  const type = headers['content-type'] ?? '';
  return headers[':method'] === 'POST' && GRPC_TYPES.has(type) && encoding === 'identity';
}

/** Who has made a call, by what it has shown. */
export interface KnownCaller {
  readonly authorization: string | undefined;
  readonly token: string | undefined;
  /** Remote address of the connection, in canonical text. */
  readonly peer: string;
  readonly caller: string;
}

/** What the calls of one connection have in common. */
export interface CallConnection {
  /** Remote address and port. */
  readonly peer: string;
  /** Who made the last call. */
  known: KnownCaller | undefined;
}

export interface UnaryCallOptions {
  readonly method: UnaryMethod;
  readonly connection: CallConnection;
  /** Milliseconds until its deadline. */
  readonly withinMs: number;
  /** Of its message. */
  readonly mostBytes: number;
}

/** A unary call on a stream of node:http2. It has what a call of grpc-js has, as far as somebody asks for it. */
export class UnaryCall {
  private readonly deadlineMs: number;
  private readonly timer: NodeJS.Timeout | undefined;
  private chunks: Buffer[] = [];
  private bytes = 0;
  private isAnswered = false;

  constructor(
    private readonly stream: ServerHttp2Stream,
    private readonly headers: IncomingHttpHeaders,
    private readonly options: UnaryCallOptions,
  ) {
    const { withinMs } = options;
    this.deadlineMs = Date.now() + withinMs;
    this.timer = withinMs === Infinity ? undefined : setTimeout(this.onDeadline, timerMs(withinMs));
    stream.on('error', ignored).on('data', this.onData).on('end', this.onEnd).on('close', this.onClose);
  }

  get cancelled(): boolean {
    return this.stream.destroyed || this.stream.closed;
  }

  getDeadline(): number {
    return this.deadlineMs;
  }

  readonly metadata = {
    get: (name: string): readonly string[] => {
      const value = this.headers[name];
      return value === undefined ? [] : typeof value === 'string' ? [value] : value;
    },
  };

  getPeer(): string {
    return this.options.connection.peer;
  }

  get connection(): CallConnection {
    return this.options.connection;
  }

  private readonly onData = (chunk: Buffer): void => {
    if (this.isAnswered) return;
    this.bytes += chunk.length;
    this.chunks.push(chunk);
    const { mostBytes } = this.options;
    if (this.announced() > mostBytes || this.bytes > mostBytes + FRAME_HEAD_BYTES)
      this.fail(new GrpcError(GrpcCode.ResourceExhausted, `a message is larger than ${mostBytes} bytes`, 'message.too_large'));
  };

  /** 0 until the head of the message is there. */
  private announced(): number {
    if (this.bytes < FRAME_HEAD_BYTES) return 0;
    if (this.chunks.length > 1) this.chunks = [Buffer.concat(this.chunks)];
    return this.chunks[0]!.readUInt32BE(1);
  }

  private readonly onEnd = (): void => {
    if (this.isAnswered || this.cancelled) return;
    const announced = this.announced();
    const [frame] = this.chunks;
    this.chunks = [];
    if (frame === undefined || this.bytes < FRAME_HEAD_BYTES + announced) this.fail(INCOMPLETE());
    else if (this.bytes > FRAME_HEAD_BYTES + announced) this.fail(SEVERAL());
    else if (frame[0] !== 0) this.fail(COMPRESSED());
    else this.ask(frame.subarray(FRAME_HEAD_BYTES));
  };

  private ask(bytes: Buffer): void {
    let request: object;
    try {
      request = this.options.method.read(bytes);
    } catch {
      this.fail(new GrpcError(GrpcCode.Internal, 'the message cannot be read', 'message.malformed'));
      return;
    }
    this.options.method.answer(request, this).then(
      (message) => this.succeed(message),
      (error: GrpcError) => this.fail(error),
    );
  }

  private succeed(message: object): void {
    let frame: Buffer;
    try {
      frame = framed(this.options.method.write(message));
    } catch {
      this.fail(new GrpcError(GrpcCode.Internal, 'the answer cannot be written', 'decision_api.failed'));
      return;
    }
    if (!this.begins()) return;
    const { stream } = this;
    stream.respond(HEADERS, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(OK));
    stream.end(frame);
  }

  private fail(error: GrpcError): void {
    if (!this.begins()) return;
    const { stream } = this;
    const status = {
      'grpc-status': String(error.code),
      'grpc-message': encodeURI(error.message.toWellFormed()),
      'grpc-status-details-bin': detailsOf(error).toString('base64'),
    };
    stream.respond({ ...HEADERS, ...status }, { endStream: true });
    // What else the caller sends of the message is of no use.
    if (!stream.readableEnded) stream.close();
  }

  /** Whether there is somebody to be answered, and nothing has been answered yet. */
  private begins(): boolean {
    if (this.isAnswered || this.cancelled) return false;
    this.isAnswered = true;
    this.chunks = [];
    clearTimeout(this.timer);
    return true;
  }

  private readonly onDeadline = (): void => {
    this.fail(new GrpcError(GrpcCode.DeadlineExceeded, 'the deadline has passed', 'deadline.passed'));
  };

  private readonly onClose = (): void => {
    this.chunks = [];
    clearTimeout(this.timer);
  };
}

function framed(bytes: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + bytes.length);
  frame[0] = 0;
  frame.writeUInt32BE(bytes.length, 1);
  frame.set(bytes, FRAME_HEAD_BYTES);
  return frame;
}

/** What goes wrong on a stream ends it, which is all that there is to do. */
function ignored(): void {}

function timerMs(withinMs: number): number {
  return Math.min(LONGEST_TIMER_MS, Math.ceil(withinMs / TIMER_STEP_MS) * TIMER_STEP_MS);
}

const INCOMPLETE = (): GrpcError => new GrpcError(GrpcCode.Internal, 'the call ended before its message', 'message.incomplete');
const SEVERAL = (): GrpcError => new GrpcError(GrpcCode.Unimplemented, 'the call has more than one message', 'message.several');
const COMPRESSED = (): GrpcError =>
  new GrpcError(GrpcCode.Internal, 'the message is compressed, and the call does not say how', 'message.compressed');
