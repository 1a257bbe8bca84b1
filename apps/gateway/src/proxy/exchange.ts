import { headerValues, rawValues, type ShownCertificate } from '#edge';
import type { Criticality } from '#platform';
import { type BodyFacts, MOST_BODY_BYTES } from '#limiter';
import type { Admission, InboundRequest } from './admission.js';
import { sendAnswer, type OwnAnswer } from './answer.js';
import { bodyToRead } from './bodies/collected-body.js';
import type { ClientRequest, ClientResponse } from './messages/client-message.js';
import type { DataPlane, Timed } from './data-plane.js';
import type { AwaitedExchange } from './http1/half-closed-client.js';
import type { Caller } from '../identity/index.js';
import type { ExchangeConnection } from './exchange-connection.js';
import type { ClientHeaders } from './messages/hop-by-hop.js';
import { NO_RESERVATIONS, settle, watchedAnswer, type Reservations } from './held-reservations.js';
import type { MerchantLoad } from './sharing/merchant-load.js';
import { isKnownMethod } from './messages/methods.js';
import { PROBLEMS, type Problem } from './problems.js';
import { Outcome } from './proxy-metrics.js';
import type { RequestBody } from './bodies/request-body.js';
import type { RequestTrace } from './request-trace.js';
import { CHUNKED, inspectHead, type RequestHead } from './messages/request-hygiene.js';
import { answeredHeaders, forwardedHeaders } from './messages/routed-headers.js';
import type { Route } from './routes.js';
import type { ShedReason } from './sharing/shedding.js';
import { tellOf } from './told-requests.js';
import type { CallOwner } from './call-owner.js';
import { UpstreamCall } from './upstream/upstream-call.js';
import { problemOf, type UpstreamFailure } from './upstream/upstream-failure.js';
import type { WatchedAnswer } from './bodies/watched-answer.js';

export const Phase = { Admission: 0, Forwarding: 1, Answering: 2, Ended: 3 } as const;

const NO_HEADERS: readonly string[] = [];

/**
 * One request from its headers to the end of its answer, as its client sees it: inspected, admitted, forwarded by an UpstreamCall, and
 * answered once, by the upstream or by the gateway itself.
 */
export class Exchange implements InboundRequest, CallOwner, Timed, AwaitedExchange {
  readonly method: string;
  /** As it came, until the path policy has said what is matched and forwarded. */
  target: string;
  readonly peer: string;
  readonly trusted: boolean;
  readonly requestId: string;
  readonly head: RequestHead;
  readonly trace: RequestTrace | undefined;
  caller: Caller | null = null;
  /** Once it is known what is asked. */
  criticality: Criticality = 'normal';
  /** What is in the body, once a rule has wanted to know. */
  body: BodyFacts | undefined;

  private readonly startedAtMs = performance.now();
  protected phase: (typeof Phase)[keyof typeof Phase] = Phase.Admission;
  private addedHeaders = NO_HEADERS;
  private reservations: Reservations = NO_RESERVATIONS;
  /** What is forwarded of the headers, once somebody has asked. */
  private forwardedHeaders: string[] | undefined;
  private waiting: NodeJS.Timeout | undefined;
  /** The merchant for which it counts, or the peer, once that is known. */
  protected load: MerchantLoad | null = null;
  private call: UpstreamCall | null = null;
  /** The body where it is read before the request is decided about. */
  private ownBody: RequestBody | null = null;
  /** Where a charge waits for the answer. */
  private watched: WatchedAnswer | null = null;
  private continued = false;
  /** Where it goes, once that is known. */
  protected route: Route | null = null;

  constructor(
    protected readonly plane: DataPlane,
    protected readonly connection: ExchangeConnection,
    private readonly request: ClientRequest,
    readonly response: ClientResponse,
    private readonly expectsContinue: boolean,
  ) {
    this.method = request.method!;
    this.target = request.url!;
    this.peer = connection.peer;
    this.trusted = connection.trusted;
    this.head = inspectHead(this.target, request.httpVersion, request.rawHeaders, connection.host, request.upgrade === true);
    this.requestId = this.head.requestId ?? plane.nextRequestId();
    this.trace = plane.settings.tracer?.begin(request.rawHeaders, this.trusted);
    plane.metrics.inFlight++;
  }

  begin(): void {
    if (this.head.problem !== null) {
      this.connection.closeAfterResponse();
      this.reject(this.head.problem);
      return;
    }
    this.connection.host = this.head.host;
    if (!isKnownMethod(this.method)) {
      this.reject(PROBLEMS.methodNotAllowed);
      return;
    }
    const target = this.plane.routes.readPath(this.target, this.head.host);
    if (typeof target !== 'string') {
      // Not even a URI: what follows may not be HTTP either.
      if (target === PROBLEMS.targetCharacters) this.connection.closeAfterResponse();
      this.reject(target);
      return;
    }
    this.target = target;
    if (!this.takes(this.plane.routes.routeFor(target, this.head.host))) return;
    this.criticality = this.plane.settings.criticalityOf?.(this) ?? 'normal';
    const tooMuch = this.plane.tooMuch(this, this.route!.upstream);
    if (tooMuch !== null) return this.reject(tooMuch);
    try {
      this.plane.admit(this, (admission) => this.decided(admission));
    } catch (error) {
      this.failed(error);
    }
  }

  /** Whether it can go by this route, and by none before. Otherwise it has been answered. */
  private takes(route: Route | undefined): boolean {
    if (this.route !== null) this.route.upstream.users--;
    this.route = null;
    this.forwardedHeaders = undefined;
    if (route === undefined) this.reject(PROBLEMS.noRoute);
    else if (this.head.bodyLength > route.maxBodyBytes) this.bodyTooLong();
    else {
      this.route = route;
      // Its upstream stays, whatever routes come meanwhile.
      route.upstream.users++;
      return true;
    }
    return false;
  }

  belongsTo(merchantId: string): boolean {
    // Who asks was looked up meanwhile, and the client has not waited.
    if (this.phase === Phase.Ended) return false;
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

  get ended(): boolean {
    return this.phase === Phase.Ended;
  }

  /** Answers with a problem instead of the upstream; if an answer is under way, cuts the connection. */
  reject(problem: Problem): void {
    if (this.phase === Phase.Ended) return;
    if (this.phase === Phase.Answering) {
      this.connection.cut();
      return;
    }
    this.phase = Phase.Ended;
    this.call?.abort();
    this.sendOwn(problem.answer(this.requestId));
    this.end(Outcome.Rejected, problem.status);
  }

  /** The client's connection is gone, so there is no answer to be sent. */
  clientGone(): void {
    if (this.phase === Phase.Ended) return;
    this.end(Outcome.ClientClosed, this.phase === Phase.Answering ? this.response.statusCode : 0);
    this.call?.abort();
  }

  tick(nowMs: number, elapsedMs: number): void {
    if (this.phase === Phase.Ended) return;
    const { settings } = this.plane;
    if (nowMs - this.startedAtMs > (this.route ?? settings).exchangeTimeoutMs) {
      this.shed('exchange_timeout', this.received ? PROBLEMS.gatewayTimeout : PROBLEMS.bodyTimeout);
      return;
    }
    const isTooSlow = this.call === null ? this.ownBody?.tooSlow(elapsedMs) : this.call.tooSlow(elapsedMs);
    if (isTooSlow) this.shed('slow_upload', PROBLEMS.bodyTimeout);
  }

  shed(reason: ShedReason, problem: Problem): void {
    this.plane.shed(reason, this.owner);
    // What is missing of the body will not be waited for.
    if (!this.received) this.connection.closeAfterResponse();
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
      if (admission.forward) settle(admission.reservations ?? NO_RESERVATIONS, true, null);
      return;
    }
    try {
      if (admission.forward) {
        this.phase = Phase.Forwarding;
        this.addedHeaders = admission.responseHeaders;
        this.reservations = admission.reservations ?? NO_RESERVATIONS;
        if (admission.reroutedTo !== undefined && !this.takes(this.plane.routes.named(admission.reroutedTo))) return;
        if (!this.belongsTo(this.owner)) return;
        if (admission.waitMs) this.waiting = setTimeout(() => this.forward(), admission.waitMs);
        else this.forward();
      } else {
        this.sendOwn(admission);
        this.end(Outcome.Refused, admission.status);
      }
    } catch (error) {
      this.failed(error);
    }
  }

  readBody(done: () => void): void {
    const read = (body: BodyFacts): void => {
      if (this.phase === Phase.Ended) return;
      this.body = body;
      done();
    };
    const reading = bodyToRead(this, this.plane, this.load!, this.request, this.route!.maxBodyBytes, read);
    if (reading === null) return;
    this.letComeIn();
    this.ownBody = reading;
    reading.collect(MOST_BODY_BYTES);
  }

  /** A client that waits to be asked for the body is asked, once. */
  private letComeIn(): void {
    if (this.expectsContinue && !this.continued && this.head.bodyLength !== 0) this.response.writeContinue();
    this.continued = true;
  }

  /** Admission broke, or what it answered cannot be sent, e.g. for a character that is not allowed in a header. */
  failed(error: unknown): void {
    this.plane.logger.error({ requestId: this.requestId, err: error }, 'admission failed');
    this.reject(PROBLEMS.internal);
  }

  forward(): void {
    if (this.phase !== Phase.Forwarding) return;
    this.letComeIn();
    this.watched = watchedAnswer(this.reservations, this.plane, this.load!);
    const { silenceMs } = this.route!.upstream;
    if (silenceMs > this.plane.settings.clientIdleTimeoutMs) this.connection.allowSilence(silenceMs);
    this.call = new UpstreamCall(this.plane, this, this.load!, this.route!, this.request, this.response, this.ownBody);
    this.call.start();
  }

  /** From the very list that goes to the upstream: a rule cannot see another header than the upstream does. */
  headerValues(name: string): readonly string[] {
    return headerValues(this.headersToForward(), name);
  }

  get certificate(): ShownCertificate | null {
    return this.connection.certificate;
  }

  receivedValues(name: string): readonly string[] {
    return rawValues(this.request.rawHeaders, name);
  }

  get hostName(): string | undefined {
    return this.head.host === '' ? undefined : this.head.host;
  }

  private headersToForward(): string[] {
    this.forwardedHeaders ??= forwardedHeaders(this, this.request.rawHeaders, this.connection, this.plane.settings.secrets, this.route!);
    return this.forwardedHeaders;
  }

  headersForUpstream(): string[] {
    const { head } = this;
    const headers = this.headersToForward();
    // Handed over: what is added now is for the connection to the upstream.
    this.forwardedHeaders = undefined;
    this.trace?.forwarding(headers);
    if (this.route!.upstream.preserveHost && head.host !== '') headers.push('host', head.host);
    return headers;
  }

  answered(status: number, rawHeaders: Buffer[]): number {
    const { headers, contentLength } = this.answeredHead(status, rawHeaders);
    // An answer while the body is still coming is often a refusal: the client may stop sending.
    const early = this.head.bodyLength !== 0 && !this.request.complete;
    if (early || this.connection.endsAfterCurrent) headers.push('Connection', 'close');
    this.response.writeHead(status, headers);
    if (early) {
      this.connection.closeAfterResponse();
      this.connection.linger(this.request);
    }
    this.phase = Phase.Answering;
    return contentLength;
  }

  /** What the upstream has answered, for the client; from here on that is known. */
  protected answeredHead(status: number, rawHeaders: Buffer[]): ClientHeaders {
    this.trace?.upstreamAnswered(status);
    this.watched?.begun(status, rawHeaders);
    return answeredHeaders(rawHeaders, status, this.requestId, this.addedHeaders, this.route!);
  }

  passed(chunk: Buffer): void {
    this.watched?.passed(chunk);
  }

  completed(): void {
    this.watched?.completed();
    this.response.end();
    this.end(Outcome.Forwarded, this.response.statusCode);
  }

  bodyTooLong(): void {
    // What is missing of the body will not be waited for.
    if (!this.received) this.connection.closeAfterResponse();
    this.reject(PROBLEMS.bodyTooLarge);
  }

  upstreamFailed(failure: UpstreamFailure, error: Error): void {
    this.plane.upstreamFailed(failure, this.requestId, error);
    if (this.phase === Phase.Answering) {
      // Part of the answer may be out. Only a broken connection tells the client that the rest is missing.
      this.end(Outcome.UpstreamError, this.response.statusCode);
      this.connection.cut();
      return;
    }
    const problem = problemOf(failure);
    this.sendOwn(problem.answer(this.requestId));
    this.end(Outcome.UpstreamError, problem.status);
  }

  private sendOwn(answer: OwnAnswer): void {
    const bodyLength = this.head.problem === null ? this.head.bodyLength : CHUNKED;
    const shown = this.plane.presented(answer, this);
    if (sendAnswer(this.response, this.request, this.connection, this.requestId, shown, bodyLength)) this.connection.closeAfterResponse();
  }

  protected end(outcome: Outcome, status: number): void {
    this.phase = Phase.Ended;
    this.plane.metrics.inFlight--;
    const durationMs = performance.now() - this.startedAtMs;
    this.plane.metrics.ended(outcome, status, durationMs);
    tellOf(this, this.plane, this.load, outcome, status, durationMs);
    if (this.waiting) clearTimeout(this.waiting);
    // Without a connection the upstream has seen nothing of the request.
    settle(this.reservations, this.call === null || !this.call.connected, this.watched);
    this.ownBody?.stop();
    // What is left of a body that was begun and not forwarded is thrown away.
    if (this.ownBody !== null && this.call === null) this.request.resume();
    this.call?.stop();
    if (this.load !== null) this.plane.merchants.leave(this.load);
    if (this.route !== null) this.route.upstream.users--;
    this.connection.ended(this);
  }
}
