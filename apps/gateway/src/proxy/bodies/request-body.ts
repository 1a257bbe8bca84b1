import type { ClientRequest } from '../messages/client-message.js';
import type { DataPlane } from '../data-plane.js';
import type { MerchantLoad } from '../sharing/merchant-load.js';
import { Pace } from './pace.js';
import { CHUNKED } from '../messages/request-hygiene.js';
import { UploadBody } from './upload-body.js';

/**
 * This much of a body is collected before the request asks for a slot of the upstream: a client that trickles holds none. Bodies
 * that are no longer are sent in one piece, which is far cheaper than a stream.
 */
const COLLECTED_BYTES = 16 * 1024;

/** The owner of a body, which is told what became of its beginning. */
export interface BodyOwner {
  /** Enough of it is there. */
  collected(): void;
  /** There is no memory for it. */
  notCollected(): void;
  /** It is longer than it may be. What comes after that is not kept. */
  tooLong(): void;
}

/** The body of one request, from the client to what is given to undici; how much memory it uses, and how fast it moves. */
export class RequestBody {
  private readonly chunks: Buffer[] = [];
  private received = 0;
  private collecting = false;
  /** Bytes after which no more is collected. */
  private most = COLLECTED_BYTES;
  private whole = false;
  private stream: UploadBody | null = null;
  private reservedBytes = 0;
  private stopped = false;
  private pace: Pace | null = null;

  /**
   * @param length in bytes, or `CHUNKED`; not 0
   * @param longest bytes that may come
   */
  constructor(
    private readonly plane: DataPlane,
    private readonly load: MerchantLoad,
    private readonly request: ClientRequest,
    private readonly length: number,
    private owner: BodyOwner,
    private longest = Infinity,
  ) {}

  /**
   * Collects the body until it is whole or too long to be collected, and then stops reading.
   *
   * @param most bytes
   */
  collect(most = COLLECTED_BYTES): void {
    this.most = most;
    if (this.length === CHUNKED || this.length > most) this.collectUpTo(most);
    else if (this.request.complete) this.collectAtOnce();
    // A small body mostly comes in one packet with its headers; after this turn it has been parsed.
    else process.nextTick(collectLater, this);
  }

  /** What has been collected belongs to somebody else now. */
  handOver(owner: BodyOwner, longest: number): void {
    this.owner = owner;
    this.longest = longest;
    if (this.received > longest) owner.tooLong();
    else owner.collected();
  }

  /** The collected body; undefined if it is longer. */
  get collectedBytes(): Buffer | undefined {
    return this.whole ? this.inOnePiece() : undefined;
  }

  /** @returns false if there is no memory to keep it until a slot is free */
  keep(): boolean {
    return this.reservedBytes > 0 || this.reserve(this.received);
  }

  /** What came behind the body, once that is whole: names and values alternating. */
  get trailers(): readonly string[] {
    return this.request.rawTrailers;
  }

  /** What undici sends: the collected body, or a stream that begins with it. */
  open(): Buffer | UploadBody {
    this.unreserve();
    if (this.whole) return this.inOnePiece();
    this.stream = new UploadBody(this.request, this.chunks, this.received, this.longest, () => this.owner.tooLong());
    return this.stream;
  }

  /** Whether the client has become too slow, after more time in which this process ran. */
  tooSlow(elapsedMs: number): boolean {
    if (this.request.complete) return false;
    const received = this.stream?.received ?? this.received;
    if (this.pace === null) {
      const { requestBodyGraceMs, minBodyBytesPerSecond } = this.plane.settings;
      this.pace = new Pace(requestBodyGraceMs, minBodyBytesPerSecond, received);
      if (this.stream !== null) this.stream.alwaysWaited = this.stream.waits;
      return false;
    }
    return this.pace.tooSlow(received, this.alwaysWaited() ? elapsedMs : 0);
  }

  /** Whether the client was waited for during all the time since the last look: only then it is the one to blame. */
  private alwaysWaited(): boolean {
    const { stream } = this;
    if (stream === null) return this.collecting;
    const always = stream.alwaysWaited;
    stream.alwaysWaited = stream.waits;
    return always;
  }

  /** The request is over. Its owner is not told anything any more. */
  stop(): void {
    this.stopped = true;
    this.stopCollecting();
    this.unreserve();
  }

  /** The body comes a little after the headers, or in pieces. */
  collectLate(): void {
    if (this.stopped) return;
    if (this.request.complete) this.collectAtOnce();
    else this.collectUpTo(this.length);
  }

  private inOnePiece(): Buffer {
    const { chunks } = this;
    if (chunks.length !== 1) chunks.splice(0, chunks.length, Buffer.concat(chunks));
    return chunks[0]!;
  }

  private collectAtOnce(): void {
    const body = this.request.read() as Buffer;
    this.chunks.push(body);
    this.received = body.length;
    this.whole = true;
    // It is kept while a decision is waited for. In other cases it goes on at once, or is kept later.
    if (this.most > COLLECTED_BYTES && !this.reserve(this.received)) this.owner.notCollected();
    else this.owner.collected();
  }

  private collectUpTo(bytes: number): void {
    if (!this.reserve(bytes)) {
      this.owner.notCollected();
      return;
    }
    this.collecting = true;
    if (this.request.readableEnded) this.onEnd();
    else this.request.on('data', this.onData).on('end', this.onEnd);
  }

  private readonly onData = (chunk: Buffer): void => {
    this.chunks.push(chunk);
    this.received += chunk.length;
    if (this.received > this.longest) {
      this.stopCollecting();
      this.owner.tooLong();
      return;
    }
    if (this.received <= this.most) return;
    this.stopCollecting();
    this.request.pause();
    this.owner.collected();
  };

  private readonly onEnd = (): void => {
    this.stopCollecting();
    this.whole = true;
    this.keepNoMore();
    this.owner.collected();
  };

  private stopCollecting(): void {
    if (!this.collecting) return;
    this.collecting = false;
    this.request.off('data', this.onData).off('end', this.onEnd);
  }

  /** Keeps of the reserved memory what the body turned out to need. */
  private keepNoMore(): void {
    const spare = this.reservedBytes - this.received;
    if (this.most === COLLECTED_BYTES || spare <= 0) return;
    this.plane.unbuffer(this.load, spare);
    this.reservedBytes = this.received;
  }

  private reserve(bytes: number): boolean {
    if (!this.plane.buffer(this.load, bytes)) return false;
    this.reservedBytes = bytes;
    return true;
  }

  private unreserve(): void {
    if (this.reservedBytes > 0) this.plane.unbuffer(this.load, this.reservedBytes);
    this.reservedBytes = 0;
  }
}

function collectLater(body: RequestBody): void {
  body.collectLate();
}
