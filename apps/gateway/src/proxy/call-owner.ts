import type { Criticality } from '#platform';
import type { Problem } from './problems.js';
import type { RequestHead } from './messages/request-hygiene.js';
import type { ShedReason } from './sharing/shedding.js';
import type { TunnelEnd } from './web-sockets/tunnel.js';
import type { UpstreamFailure } from './upstream/upstream-failure.js';

/** The exchange for which the upstream is called. It is told what becomes of the call until it has ended. */
export interface CallOwner {
  readonly method: string;
  readonly target: string;
  readonly criticality: Criticality;
  readonly head: RequestHead;
  readonly ended: boolean;
  /** The protocol that it asks for instead of HTTP. */
  readonly upgrade?: string;
  /** The headers for the upstream as a flat list of names and values, without those that depend on how the body is sent. */
  headersForUpstream(): string[];
  /**
   * Hands the upstream's status and headers to the response.
   *
   * @returns the declared length of the answer's body in bytes, or -1
   */
  answered(status: number, rawHeaders: Buffer[]): number;
  /**
   * The upstream speaks that protocol from here on.
   *
   * @returns false if nobody wants to hear it
   */
  switched?(rawHeaders: Buffer[], upstream: TunnelEnd): boolean;
  /** A piece of the answer's body is on its way to the client. */
  passed(chunk: Buffer): void;
  /** The answer is complete. */
  completed(): void;
  upstreamFailed(failure: UpstreamFailure, error: Error): void;
  /** The body of the request is longer than it may be. */
  bodyTooLong(): void;
  /** The request has to be refused to protect others. */
  shed(reason: ShedReason, problem: Problem): void;
  failed(error: unknown): void;
}
