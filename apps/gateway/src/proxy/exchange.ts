import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Admission, InboundRequest } from './admission.js';
import { sendAnswer, type OwnAnswer } from './answer.js';
import type { ClientConnection } from './client-connection.js';
import type { DataPlane, Timed } from './data-plane.js';
import type { AwaitedExchange } from './half-closed-client.js';
import { clientHeaders, upstreamHeaders } from './hop-by-hop.js';
import { lingerOnClose } from './linger.js';
import type { MerchantLoad } from './merchant-load.js';
import { isKnownMethod } from './methods.js';
import { endWithBody } from './one-piece.js';
import { PROBLEMS, type Problem } from './problems.js';
import { Outcome } from './proxy-metrics.js';
import { CHUNKED, inspectHead, type RequestHead } from './request-hygiene.js';
import { type BodyOwner, RequestBody } from './request-body.js';
import type { ShedReason } from './shedding.js';
import { UploadBody } from './upload-body.js';
import { problemOf, upstreamFailure } from './upstream-failure.js';
import type { SlotSeeker, Waiter } from './upstream-slots.js';

const Phase = { Admission: 0, Forwarding: 1, Answering: 2, Ended: 3 } as const;

const NO_HEADERS: readonly string[] = [];

type Claims = NonNullable<Extract<Admission, { forward: true }>['claims']>;
const NO_CLAIMS: Claims = [];

/**
 * One request from its headers to the end of its answer: inspected, admitted, given a slot of the upstream, forwarded,
 * answered. It is the handler that undici calls with the upstream's answer, by undici's raw-header interface: no promise, no header object.
 *
 * The upstream's 1xx answers and trailers are not passed on.
 */
export class Exchange implements InboundRequest, Dispatcher.DispatchHandler, BodyOwner, SlotSeeker, Timed, AwaitedExchange {
  readonly method: string;
  /** As it came, until the path policy has said what is matched and forwarded. */
  target: string;
  readonly peer: string;
  readonly trusted: boolean;
  readonly requestId: string;

  readonly head: RequestHead;
  private readonly startedAtMs = performance.now();
  private phase: (typeof Phase)[keyof typeof Phase] = Phase.Admission;
  private addedHeaders = NO_HEADERS;
  private claims: Claims = NO_CLAIMS;
  private waiting: NodeJS.Timeout | undefined;
  private abortUpstream: ((error?: Error) => void) | null = null;
  /** The declared length of the answer's body in bytes, -1 if unknown. */
  private answerLength = -1;
  private bodyBegun = false;
  private resume: (() => void) | null = null;
  /** Whom it counts for, once that is known. */
  private load: MerchantLoad | null = null;
  private body: RequestBody | null = null;
  private queued: Waiter | null = null;
  private holdsSlot = false;

  constructor(
    private readonly plane: DataPlane,
    private readonly connection: ClientConnection,
    private readonly request: IncomingMessage,
    readonly response: ServerResponse,
    private readonly expectsContinue: boolean,
  ) {
    this.method = request.method!;
    this.target = request.url!;
    this.peer = connection.peer;
    this.trusted = connection.trusted;
    this.head = inspectHead(this.target, request.httpVersion, request.rawHeaders, connection.host);
    this.requestId = this.head.requestId ?? plane.nextRequestId();
    plane.metrics.inFlight++;
  }

  begin(): void {
    if (this.head.problem !== null) {
      this.connection.distrust();
      this.reject(this.head.problem);
      return;
    }
    this.connection.host = this.head.host;
    if (!isKnownMethod(this.method)) {
      this.reject(PROBLEMS.methodNotAllowed);
      return;
    }
    const target = this.plane.readPath(this.target);
    if (typeof target !== 'string') {
      // Not even a URI: what follows may be no HTTP either.
      if (target === PROBLEMS.targetCharacters) this.connection.distrust();
      this.reject(target);
      return;
    }
    this.target = target;
    if (this.plane.metrics.inFlight > this.plane.maxInFlight) {
      this.reject(PROBLEMS.overloaded);
      return;
    }
    try {
      this.plane.admit(this, (admission) => this.decided(admission));
    } catch (error) {
      this.failed(error);
    }
  }

  belongsTo(merchantId: string): boolean {
    if (this.load !== null) return true;
    this.load = this.plane.merchants.enter(merchantId);
    if (this.load !== null) return true;
    this.plane.shed('merchant_in_flight', merchantId);
    this.reject(PROBLEMS.merchantInFlight);
    return false;
  }

  /** The merchant, or the peer as long as no merchant is known. */
  get owner(): string {
    return this.load?.key ?? this.peer;
  }

  /** Whether the request has arrived whole. */
  get received(): boolean {
    return this.request.complete;
  }

  /** Answers with a problem instead of the upstream; if an answer is under way, cuts the connection. */
  reject(problem: Problem): void {
    if (this.phase === Phase.Ended) return;
    if (this.phase === Phase.Answering) {
      this.connection.socket.destroy();
      return;
    }
    this.phase = Phase.Ended;
    this.abortUpstream?.();
    this.answer(problem);
    this.end(Outcome.Rejected, problem.status);
  }

  /** The client's connection is gone: nobody is left to be answered. */
  clientGone(): void {
    if (this.phase === Phase.Ended) return;
    this.end(Outcome.ClientClosed, this.phase === Phase.Answering ? this.response.statusCode : 0);
    this.abortUpstream?.();
  }

  tick(nowMs: number, elapsedMs: number): void {
    if (this.phase === Phase.Ended) return;
    const { settings } = this.plane;
    if (nowMs - this.startedAtMs > settings.exchangeTimeoutMs) {
      this.shed('exchange_timeout', this.received ? PROBLEMS.gatewayTimeout : PROBLEMS.bodyTimeout);
      return;
    }
    if (this.body?.tooSlow(elapsedMs)) this.shed('slow_upload', PROBLEMS.bodyTimeout);
  }

  /** Ends it to protect others. */
  private shed(reason: ShedReason, problem: Problem): void {
    this.plane.shed(reason, this.owner);
    // What is missing of the body will not be waited for.
    if (!this.received) this.connection.distrust();
    this.reject(problem);
  }

  writeInterim(): boolean {
    if (this.phase === Phase.Answering) return false;
    if (this.phase !== Phase.Ended && this.request.httpVersion === '1.1') this.response.writeProcessing();
    return true;
  }

  private decided(admission: Admission): void {
    if (this.phase !== Phase.Admission) {
      // The client has not waited.
      if (admission.forward) for (const claim of admission.claims ?? NO_CLAIMS) claim.refund();
      return;
    }
    try {
      if (admission.forward) {
        this.phase = Phase.Forwarding;
        this.addedHeaders = admission.responseHeaders;
        this.claims = admission.claims ?? NO_CLAIMS;
        if (!this.belongsTo(this.owner)) return;
        if (admission.waitMs) this.waiting = setTimeout(forward, admission.waitMs, this);
        else this.forward();
      } else {
        this.sendOwn(admission);
        this.end(Outcome.Refused, admission.status);
      }
    } catch (error) {
      this.failed(error);
    }
  }

  /** Admission broke, or what it answered cannot be sent, e.g. for a character that is not allowed in a header. */
  private failed(error: unknown): void {
    this.plane.logger.error({ requestId: this.requestId, err: error }, 'admission failed');
    this.reject(PROBLEMS.internal);
  }

  /** Sends the request upstream, as soon as enough of its body is there and a slot is free. */
  forward(): void {
    if (this.phase !== Phase.Forwarding) return;
    if (this.head.bodyLength === 0) {
      this.collected();
      return;
    }
    if (this.expectsContinue) this.response.writeContinue();
    this.body = new RequestBody(this.plane, this.load!, this.request, this.head.bodyLength, this);
    this.body.collect();
  }

  collected(): void {
    const { slots, clock } = this.plane;
    const load = this.load!;
    if (slots.take(load)) this.slotTaken();
    else if (this.body?.keep() === false) this.notCollected();
    else this.queued = slots.wait(load, this, clock.nowMs);
  }

  notCollected(): void {
    this.shed('buffered_bytes', PROBLEMS.bufferedBytes);
  }

  slotTaken(): void {
    this.queued = null;
    this.holdsSlot = true;
    try {
      this.dispatch(this.body === null ? null : this.body.open());
    } catch (error) {
      this.releaseSlot();
      this.failed(error);
    }
  }

  slotTooLate(): void {
    this.queued = null;
    this.shed('upstream_queue', PROBLEMS.upstreamQueue);
  }

  /** undici is done with the request. */
  private releaseSlot(): void {
    if (!this.holdsSlot) return;
    this.holdsSlot = false;
    const load = this.load!;
    this.plane.slots.release(load);
    this.plane.merchants.forgetIdle(load);
  }

  private dispatch(body: Buffer | UploadBody | null): void {
    const { plane, head, connection } = this;
    const headers = upstreamHeaders(this.request.rawHeaders, head, connection, this.requestId);
    if (plane.preserveHost && head.host !== '') headers.push('host', head.host);
    if (body instanceof UploadBody && head.bodyLength !== CHUNKED) {
      headers.push('content-length', String(head.bodyLength));
    }
    plane.dispatch(this.target, this.method as Dispatcher.HttpMethod, headers, body, this);
  }

  onConnect(abort: (error?: Error) => void): void {
    this.abortUpstream = abort;
    if (this.phase === Phase.Ended) abort();
  }

  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void): boolean {
    if (status < 200) return true;
    const { headers, contentLength } = clientHeaders(rawHeaders, status, this.requestId, this.addedHeaders);
    // An answer while the body is still coming is often a refusal: the client may stop sending.
    const early = this.head.bodyLength !== 0 && !this.request.complete;
    if (early || this.mustClose) headers.push('Connection', 'close');
    this.response.writeHead(status, headers);
    if (early) {
      this.connection.distrust();
      lingerOnClose(this.connection.socket, this.request);
    }
    this.phase = Phase.Answering;
    this.answerLength = contentLength;
    this.resume = resume;
    this.plane.flushSoon(this);
    return true;
  }

  onData(chunk: Buffer): boolean {
    const { response } = this;
    this.bodyBegun = true;
    if (chunk.length === this.answerLength) {
      endWithBody(response, chunk);
      return true;
    }
    if (response.write(chunk)) return true;
    response.once('drain', this.resume!);
    return false;
  }

  onComplete(): void {
    if (this.phase !== Phase.Ended) {
      this.response.end();
      this.end(Outcome.Forwarded, this.response.statusCode);
    }
    this.releaseSlot();
  }

  onError(error: Error): void {
    if (this.phase !== Phase.Ended) this.upstreamFailed(error);
    this.releaseSlot();
  }

  private upstreamFailed(error: Error): void {
    const failure = upstreamFailure(error, this.abortUpstream !== null);
    this.plane.upstreamFailed(failure, this.requestId, error);
    if (this.phase === Phase.Answering) {
      // Part of the answer may be out. Only a broken connection tells the client that the rest is missing.
      this.end(Outcome.UpstreamError, this.response.statusCode);
      this.connection.socket.destroy();
      return;
    }
    const problem = problemOf(failure);
    this.answer(problem);
    this.end(Outcome.UpstreamError, problem.status);
  }

  /** Sends the headers, if no body has taken them along yet. */
  flush(): void {
    if (this.phase === Phase.Answering && !this.bodyBegun) this.response.flushHeaders();
  }

  private answer(problem: Problem): void {
    const { status, headers } = problem;
    this.sendOwn({ status, headers, body: problem.body(this.requestId) });
  }

  private sendOwn(answer: OwnAnswer): void {
    const bodyLength = this.head.problem === null ? this.head.bodyLength : CHUNKED;
    const closes = sendAnswer(this.response, this.request, this.requestId, answer, bodyLength, this.mustClose);
    if (closes) this.connection.distrust();
  }

  private get mustClose(): boolean {
    return this.connection.endsAfterCurrent;
  }

  private end(outcome: Outcome, status: number): void {
    this.phase = Phase.Ended;
    this.plane.metrics.inFlight--;
    this.plane.metrics.ended(outcome, status, performance.now() - this.startedAtMs);
    if (this.waiting) clearTimeout(this.waiting);
    // Where it never got a connection the upstream has seen nothing of it.
    const unused = this.abortUpstream === null;
    for (const claim of this.claims) {
      if (unused) claim.refund();
      else claim.release();
    }
    if (this.queued !== null) this.plane.slots.leave(this.queued);
    this.body?.stop();
    if (this.load !== null) this.plane.merchants.leave(this.load);
    this.connection.ended(this);
  }
}

/** The turn of a request that had to wait. */
function forward(exchange: Exchange): void {
  exchange.forward();
}
