import type { Socket } from 'node:net';
import { handOver, unlessRead } from '#edge';
import type { ClientConnection } from './client-connection.js';
import { plainHead, type PlainHead } from './plain-head.js';
import { PlainRequest } from './plain-request.js';
import { PlainResponse } from './plain-response.js';
import { PROBLEMS } from '../problems.js';
import type { ProxyMetrics } from '../proxy-metrics.js';
import type { ProxySettings } from '../proxy-options.js';

/**
 * The requests of one connection, as long as they are plain and come one by one: the fast lane. They are exchanges like all others; only the streams of node:http are not
 * between them and the socket. With the first request of another kind, or one that does not wait for the answer before it, the connection becomes one of node:http, for good, and
 * that request is read there from its first byte.
 */
export class PlainConnection {
  private request: PlainRequest | null = null;
  private wasAsked = false;
  private isLeft = false;

  constructor(
    private readonly socket: Socket,
    private readonly connection: ClientConnection,
    private readonly settings: ProxySettings,
    /** The listener with which node's server begins a connection. */
    private readonly speakHttp: (socket: Socket) => void,
    private readonly counts: Pick<ProxyMetrics, 'fastRequests' | 'leftFastLane'>,
  ) {
    socket.setTimeout(settings.clientHeadersTimeoutMs);
    socket.on('data', this.onData).on('end', this.onEnd).on('timeout', this.onTimeout).on('error', this.onError).on('close', this.onClose);
  }

  private readonly onData = (chunk: Buffer): void => {
    const rest = this.request === null || this.request.complete ? chunk : this.request.receive(chunk);
    if (rest.length > 0) this.begin(rest);
    this.readOn();
  };

  private begin(chunk: Buffer): void {
    const { connection, socket } = this;
    // Nobody looks at what follows the last request.
    if (connection.closing) return;
    // Of clients that do not read their answers node knows how to read no more.
    const head = connection.idle && !socket.writableNeedDrain ? plainHead(chunk) : undefined;
    if (head === undefined) this.leave(chunk);
    else this.accept(head, chunk.subarray(head.length));
  }

  private accept(head: PlainHead, rest: Buffer): void {
    const { connection, settings, socket } = this;
    const request = new PlainRequest(head, () => this.readOn());
    const behind = rest.length > 0 ? request.receive(rest) : rest;
    this.request = request;
    this.counts.fastRequests++;
    this.wasAsked = true;
    socket.setTimeout(settings.clientIdleTimeoutMs);
    const response = new PlainResponse({
      socket,
      isHead: head.method === 'HEAD',
      keepAliveTimeoutMs: settings.keepAliveTimeoutMs,
      onOver: (closes) => this.answered(request, closes),
    });
    connection.accept(request, response, false);
    if (behind.length > 0) this.begin(behind);
  }

  private answered(request: PlainRequest, closes: boolean): void {
    const { settings, socket } = this;
    if (this.isLeft) delete (socket as { end?: unknown }).end;
    if (!request.complete) request.dump();
    if (closes) socket.destroySoon();
    else if (!this.isLeft && !socket.destroyed) socket.setTimeout(settings.keepAliveTimeoutMs);
  }

  /** Reads while there is somebody who takes it. */
  private readOn(): void {
    const { request, socket } = this;
    if (this.isLeft) return;
    const holdsBack = request?.isHeldBack === true;
    if (holdsBack === socket.isPaused()) return;
    if (holdsBack) socket.pause();
    else socket.resume();
  }

  private leave(chunk: Buffer): void {
    const { socket } = this;
    const isAnswering = !this.connection.idle;
    const silenceMs = isAnswering ? socket.timeout! : 0;
    this.isLeft = true;
    this.counts.leftFastLane++;
    // Node does not know of the answer that is still to come, and would end the connection before it when the client has ended. It closes behind that answer.
    if (isAnswering) socket.end = () => socket;
    socket
      .off('data', this.onData)
      .off('end', this.onEnd)
      .off('timeout', this.onTimeout)
      .off('error', this.onError)
      .off('close', this.onClose);
    handOver(socket, chunk, this.speakHttp);
    if (silenceMs > 0) socket.setTimeout(silenceMs);
  }

  private readonly onEnd = (): void => {
    const { connection, request } = this;
    if (request?.complete === false) connection.fail(PROBLEMS.malformed);
    if (connection.idle) this.socket.end();
  };

  private readonly onTimeout = (): void => {
    unlessRead(this.socket, () => {
      if (this.wasAsked) this.socket.destroy();
      else this.connection.fail(PROBLEMS.requestTimeout);
    });
  };

  /** The connection closes, which is all that there is to do. */
  private readonly onError = (): void => {};

  private readonly onClose = (): void => this.request?.gone();
}
