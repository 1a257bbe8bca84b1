import { constants, type ServerHttp2Stream } from 'node:http2';
import type { ShownCertificate } from '#edge';
import type { DataPlane, Timed } from '../data-plane.js';
import { Exchange } from '../exchange.js';
import type { ExchangeConnection } from '../exchange-connection.js';
import { Http2Request, translatedHead } from './http2-request.js';
import { Http2Response } from './http2-response.js';
import { Pace } from '../bodies/pace.js';
import { PROBLEMS } from '../problems.js';

const { NGHTTP2_NO_ERROR } = constants;

/** So long the rest of a request is read and thrown away after its answer. Milliseconds. */
const UNWANTED_MS = 2_000;

/** The connection that a stream shares with others. */
export interface SharedConnection {
  readonly peer: string;
  readonly trusted: boolean;
  readonly certificate: ShownCertificate | null;
  /** The last Host value that was found valid. */
  host: string;
  /** @param wasReset by the client, or by us for what the client did, before its answer was whole */
  left(exchange: Http2Exchange, wasReset: boolean): void;
}

/** One stream of HTTP/2, as the connection of the one exchange that takes place on it. */
export class Http2Exchange implements ExchangeConnection, Timed {
  readonly secure = true;
  /** GOAWAY says it, and not an answer. */
  readonly endsAfterCurrent = false;
  readonly peer: string;
  readonly trusted: boolean;
  readonly certificate: ShownCertificate | null;

  private response: Http2Response | null = null;
  private exchange: Exchange | null = null;
  private reading: Pace | null = null;
  private unwantedMs = 0;
  private isCut = false;
  private wasGivenUp = false;

  constructor(
    private readonly plane: DataPlane,
    private readonly connection: SharedConnection,
    private readonly stream: ServerHttp2Stream,
  ) {
    this.peer = connection.peer;
    this.trusted = connection.trusted;
    this.certificate = connection.certificate;
    // The client has reset the stream, or the connection is gone: `close` follows, but only once everything has been read.
    stream.on('aborted', () => this.givenUp());
    stream.on('close', () => this.closed());
    // Whatever is wrong with a stream closes it.
    stream.on('error', () => {});
  }

  get host(): string {
    return this.connection.host;
  }

  set host(host: string) {
    this.connection.host = host;
  }

  begin(rawHeaders: readonly string[]): void {
    const head = translatedHead(rawHeaders, this.stream.endAfterHeaders, this.plane.settings.maxHeaderBytes);
    const expectsContinue = head.expectation === '100-continue';
    const request = new Http2Request(this.stream, head);
    this.response = new Http2Response(this.stream, head.method === 'HEAD');
    const exchange = new Exchange(this.plane, this, request, this.response, expectsContinue);
    this.exchange = exchange;
    if (head.problem !== undefined) exchange.reject(head.problem);
    else if (head.expectation !== '' && !expectsContinue) exchange.reject(PROBLEMS.expectation);
    else exchange.begin();
  }

  /** Streams do not concern each other: what this one said wrongly costs no other. */
  closeAfterResponse(): void {}

  ended(): void {
    if (!this.stream.readableEnded) this.stream.resume();
  }

  cut(): void {
    this.isCut = true;
    // Not `close`: it would end the body first, and what was broken off would look whole.
    this.stream.destroy(new Error('the answer was broken off'));
  }

  /** Streams have no such deadline. */
  allowSilence(): void {}

  linger(): void {
    this.stream.resume();
  }

  cutUnlessComplete(): void {
    this.stream.resume();
  }

  /** The client will send nothing more on its connection. */
  clientEnded(): void {
    if (this.stream.state.remoteClose === 0) this.cut();
  }

  /** The connection is gone, and this stream with it. */
  gone(): void {
    this.exchange?.clientGone();
  }

  tick(nowMs: number, elapsedMs: number): void {
    const { exchange, stream } = this;
    exchange?.tick(nowMs, elapsedMs);
    if (stream.closed) return;
    if (stream.writableLength > 0) this.watchReading(elapsedMs);
    else this.reading = null;
    if (exchange?.ended !== true || !stream.writableFinished) return;
    // RFC 9113, 8.1: the answer is whole, and the rest of the request is not wanted.
    this.unwantedMs += elapsedMs;
    if (this.unwantedMs > UNWANTED_MS) stream.close(NGHTTP2_NO_ERROR);
  }

  private watchReading(elapsedMs: number): void {
    const { responseBodyGraceMs, minBodyBytesPerSecond } = this.plane.settings;
    const taken = this.response?.taken ?? 0;
    if (this.reading === null) {
      this.reading = new Pace(responseBodyGraceMs, minBodyBytesPerSecond, taken);
    } else if (this.reading.tooSlow(taken, elapsedMs)) {
      this.plane.shed('slow_download', this.exchange?.owner ?? this.peer);
      this.cut();
    }
  }

  private givenUp(): void {
    if (this.exchange?.ended === false) this.wasGivenUp = true;
    this.exchange?.clientGone();
  }

  private closed(): void {
    this.givenUp();
    const wasReset = !this.isCut && (this.wasGivenUp || this.stream.rstCode !== NGHTTP2_NO_ERROR);
    this.connection.left(this, wasReset);
  }
}
