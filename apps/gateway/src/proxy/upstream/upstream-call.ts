import { endWithBody } from '#edge';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { ClientRequest, ClientResponse } from '../messages/client-message.js';
import type { DataPlane, Flushable } from '../data-plane.js';
import type { MerchantLoad } from '../sharing/merchant-load.js';
import { EARLY_HINTS, hintHeaders, MOST_EARLY_HINTS, sendEarlyHints } from '../messages/early-hints.js';
import type { CallOwner } from '../call-owner.js';
import { PROBLEMS, type Problem } from '../problems.js';
import { UpstreamPhase } from '../proxy-metrics.js';
import { type BodyOwner, RequestBody } from '../bodies/request-body.js';
import { CHUNKED } from '../messages/request-hygiene.js';
import { allowedTrailers } from '../messages/trailers.js';
import type { TunnelEnd } from '../web-sockets/tunnel.js';
import { UploadBody } from '../bodies/upload-body.js';
import type { Route } from '../routes.js';
import type { Upstream } from './upstream.js';
import type { UpstreamAddress } from './upstream-address.js';
import { saysOverload, upstreamFailure, type UpstreamFailure } from './upstream-failure.js';
import type { SlotHolding } from '../sharing/slot-holding.js';
import type { SlotSeeker, Waiter } from './upstream-slots.js';

/** Further addresses that are tried for one request. */
const MOST_RETRIES = 2;
const NONE: readonly UpstreamAddress[] = [];

/**
 * One request on its way to the upstream: its body is collected, it gets a slot, it is sent, and the answer is streamed to the client. It is
 * the handler that undici calls, by undici's raw-header interface: no promise, no header object.
 *
 * Of the upstream's interim answers, early hints are passed on; of trailers, those that may be.
 */
export class UpstreamCall implements Dispatcher.DispatchHandler, BodyOwner, SlotSeeker, Flushable {
  private readonly body: RequestBody | null;
  private queued: Waiter | null = null;
  private holdsSlot = false;
  /** While it holds a slot and the answer has not begun. */
  private awaits = false;
  private abortUpstream: ((error?: Error) => void) | null = null;
  /** The declared length of the answer's body in bytes, -1 if unknown. */
  private answerLength = -1;
  private bodyBegun = false;
  /** When it began to wait for a slot, and when it was on its connection. As `performance.now` tells it. */
  private queuedAtMs = 0;
  private sentAtMs = 0;
  private resume: (() => void) | null = null;
  private readonly upstream: Upstream;
  private readonly holding: SlotHolding;
  private readonly maxBodyBytes: number;
  private readonly takesInterim: boolean;
  private hints = 0;
  private address: UpstreamAddress | undefined;
  /** Where no connection could be opened. */
  private tried: readonly UpstreamAddress[] = NONE;
  private headers: string[] = [];
  private sentBody: Buffer | UploadBody | null = null;

  /** @param load of the merchant, or of the peer if no merchant is known */
  constructor(
    private readonly plane: DataPlane,
    private readonly owner: CallOwner,
    private readonly load: MerchantLoad,
    route: Route,
    request: ClientRequest,
    private readonly response: ClientResponse,
    /** The body if somebody has read in it. */
    private readonly begunBody: RequestBody | null = null,
  ) {
    const { bodyLength } = owner.head;
    this.upstream = route.upstream;
    this.maxBodyBytes = route.maxBodyBytes;
    this.takesInterim = request.httpVersion === '1.1';
    this.holding = route.upstream.holding(load);
    this.body = begunBody ?? (bodyLength === 0 ? null : new RequestBody(plane, load, request, bodyLength, this, route.maxBodyBytes));
  }

  /** Sends the request as soon as enough of its body is there and a slot is free. */
  start(): void {
    if (this.body === null) this.collected();
    else if (this.begunBody !== null) this.begunBody.handOver(this, this.maxBodyBytes);
    else this.body.collect();
  }

  /** Whether it got a connection, so that the upstream may have seen something of the request. */
  get connected(): boolean {
    return this.abortUpstream !== null;
  }

  /** Whether the client sends the body of its request too slowly, after more time in which this process ran. */
  tooSlow(elapsedMs: number): boolean {
    return this.body !== null && this.body.tooSlow(elapsedMs);
  }

  /** Tells undici to stop. The slot is held until undici has. */
  abort(): void {
    this.abortUpstream?.();
  }

  /** The exchange has ended: what has not been sent by now will not be. */
  stop(): void {
    if (this.queued !== null) this.upstream.slots.leave(this.queued);
    this.body?.stop();
  }

  collected(): void {
    const { slots } = this.upstream;
    const { criticality } = this.owner;
    if (slots.take(this.holding, criticality)) this.slotTaken();
    else if (criticality === 'sheddable') this.shed('overload', PROBLEMS.overload);
    else if (this.body?.keep() === false) this.notCollected();
    else this.wait(slots.wait(this.holding, this, this.plane.clock.nowMs, criticality));
  }

  tooLong(): void {
    this.owner.bodyTooLong();
  }

  notCollected(): void {
    this.owner.shed('buffered_bytes', PROBLEMS.bufferedBytes);
  }

  slotTaken(): void {
    if (this.queued !== null) this.plane.metrics.upstreamTook(UpstreamPhase.wait, performance.now() - this.queuedAtMs);
    this.queued = null;
    this.holdsSlot = true;
    this.awaits = true;
    try {
      this.send(this.body === null ? null : this.body.open());
    } catch (error) {
      this.releaseSlot();
      this.owner.failed(error);
    }
  }

  slotTooLate(): void {
    this.queued = null;
    this.shed('upstream_queue', PROBLEMS.upstreamQueue);
  }

  onConnect(abort: (error?: Error) => void): void {
    this.abortUpstream = abort;
    this.sentAtMs = performance.now();
    if (this.owner.ended) abort();
  }

  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void): boolean {
    if (status < 200) {
      if (status === EARLY_HINTS) this.passHints(rawHeaders);
      return true;
    }
    this.begins(this.address!, saysOverload(status));
    this.answerLength = this.owner.answered(status, rawHeaders);
    this.resume = resume;
    this.plane.flushSoon(this);
    return true;
  }

  /** The connection belongs to the pool no more, and the slot is free for the next. To the address it counts until it is closed. */
  onUpgrade(_status: number, rawHeaders: Buffer[], socket: Duplex): void {
    const { owner } = this;
    const address = this.address!;
    socket.on('error', () => {}).on('close', () => address.inFlight--);
    this.address = undefined;
    this.begins(address);
    this.releaseSlot();
    if (owner.ended || !owner.switched!(rawHeaders, socket as TunnelEnd)) socket.destroy();
  }

  onData(chunk: Buffer): boolean {
    const { response } = this;
    this.bodyBegun = true;
    this.owner.passed(chunk);
    if (chunk.length === this.answerLength) {
      endWithBody(response, chunk);
      return true;
    }
    if (response.write(chunk)) return true;
    response.once('drain', this.resume!);
    return false;
  }

  onComplete(trailers?: readonly (Buffer | string)[] | null): void {
    this.plane.metrics.upstreamTook(UpstreamPhase.whole, performance.now() - this.sentAtMs);
    if (!this.owner.ended) {
      if (trailers?.length) this.response.addTrailers(allowedTrailers(trailers.map((each) => each.toString('latin1'))));
      this.owner.completed();
    }
    this.releaseSlot();
  }

  onError(error: Error): void {
    const { owner, upstream, address } = this;
    let failed = false;
    if (!owner.ended) {
      const failure = upstreamFailure(error, this.connected);
      upstream.failed(address!, failure, performance.now());
      if (this.goesElsewhere(failure)) return;
      failed = saysOverload(failure);
      owner.upstreamFailed(failure, error);
    }
    this.awaitsNoMore(failed ? 'failed' : undefined);
    this.releaseSlot();
  }

  /** Sends the headers of the answer, if no body has taken them along yet. */
  flush(): void {
    if (!this.bodyBegun && !this.owner.ended) this.response.flushHeaders();
  }

  /** HTTP/1.0 has no interim answers. */
  private passHints(rawHeaders: Buffer[]): void {
    if (this.owner.ended || !this.takesInterim || this.hints >= MOST_EARLY_HINTS) return;
    this.hints++;
    const headers = hintHeaders(rawHeaders);
    if (headers.length > 0) sendEarlyHints(this.response, headers);
  }

  private begins(address: UpstreamAddress, isOverloaded = false): void {
    const tookMs = performance.now() - this.sentAtMs;
    this.plane.metrics.upstreamTook(UpstreamPhase.first_byte, tookMs);
    this.upstream.answered(address, this.sentAtMs);
    this.awaitsNoMore(isOverloaded ? 'failed' : tookMs);
  }

  private shed(reason: 'overload' | 'upstream_queue', problem: Problem): void {
    this.plane.metrics.shedOf(this.owner.criticality);
    this.owner.shed(reason, problem);
  }

  private awaitsNoMore(outcome: number | 'failed' | undefined): void {
    if (!this.awaits) return;
    this.awaits = false;
    this.upstream.slots.awaitsNoMore(this.holding, outcome);
  }

  private wait(place: Waiter): void {
    this.queued = place;
    this.queuedAtMs = performance.now();
  }

  private send(body: Buffer | UploadBody | null): void {
    const { owner } = this;
    const headers = owner.headersForUpstream();
    // Most requests have none, and what null is an instance of takes a look-up.
    if (body !== null && body instanceof UploadBody && owner.head.bodyLength !== CHUNKED)
      headers.push('content-length', String(owner.head.bodyLength));
    this.headers = headers;
    this.sentBody = body;
    this.dispatch(this.upstream.choose(performance.now(), NONE)!);
  }

  private dispatch(address: UpstreamAddress): void {
    this.address = address;
    address.inFlight++;
    address.dispatch(this.owner.target, this.owner.method, this.headers, this.sentBody, this, this.owner.upgrade, this.body);
  }

  /**
   * A request for which no connection could be opened goes to another address: no upstream has seen anything of it. Nothing else is ever sent twice. A
   * body that comes in pieces may have lost some already.
   */
  private goesElsewhere(failure: UpstreamFailure): boolean {
    const neverSent = (failure === 'connect' || failure === 'connect_timeout') && !this.connected;
    if (!neverSent || this.sentBody instanceof UploadBody || this.tried.length >= MOST_RETRIES) return false;
    this.tried = [...this.tried, this.address!];
    const next = this.upstream.choose(performance.now(), this.tried);
    if (next === undefined) return false;
    this.upstream.counts.connectRetries++;
    this.address!.inFlight--;
    this.address = undefined;
    try {
      this.dispatch(next);
    } catch (error) {
      this.releaseSlot();
      this.owner.failed(error);
    }
    return true;
  }

  /** undici is done with the request. */
  private releaseSlot(): void {
    if (!this.holdsSlot) return;
    this.awaitsNoMore(undefined);
    this.holdsSlot = false;
    if (this.address !== undefined) this.address.inFlight--;
    this.upstream.slots.release(this.holding);
    this.plane.merchants.forgetIdle(this.load);
  }
}
