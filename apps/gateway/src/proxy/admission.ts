import type { IdentityHeaders, ShownCertificate } from '#edge';
import type { AnswerFacts, BodyFacts } from '#limiter';
import type { Caller, KeyHeaders } from '../identity/index.js';
import type { RequestTrace } from './request-trace.js';

/** What admission is told about a request. */
export interface InboundRequest {
  readonly method: string;
  /** Path and query as they are forwarded; starts with a slash, has no fragment, only printable ASCII. */
  readonly target: string;
  /** What the headers say about the sender. */
  readonly head: IdentityHeaders & KeyHeaders & { readonly bodyLength: number };
  /** Remote address of the connection in canonical text; an IPv4 address even if it arrived as an IPv4-mapped IPv6 address. */
  readonly peer: string;
  /** Whether the peer may say who the client is and where a request came from. */
  readonly trusted: boolean;
  /** The values of a header as they are forwarded, one for each line. @param name in lower case */
  headerValues(name: string): readonly string[];
  /** What is in the body, once it has been read. */
  readonly body: BodyFacts | undefined;
  /** Reads the body, up to a bound. Calls back once, unless the request ends before. Only after `belongsTo`: its memory counts for somebody. */
  readBody(done: () => void): void;
  /** The values of a header as the client sent them, one for each line, as Node decodes them. @param name in lower case */
  receivedValues(name: string): readonly string[];
  /** What the client has shown of itself on its connection; null: nothing, or nobody looks. */
  readonly certificate: ShownCertificate | null;
  /** What the client wrote as its host, if it did. */
  readonly hostName: string | undefined;
  /** The client's own, if it was valid, otherwise generated; harmless characters only. */
  readonly requestId: string;
  /** Told of the decision, where requests are traced. */
  readonly trace?: RequestTrace | undefined;
  /** Whom its credential names; admission says so, for the upstream. */
  caller: Caller | null;
  /**
   * Says which merchant the request counts for, before anything is waited for; a request that is forwarded without counts for its
   * peer. False: the merchant has its share of the requests in flight, and this one has been answered; there is nothing to decide.
   */
  belongsTo(merchantId: string): boolean;
}

/** What a request took, to be settled once. */
export interface TakenReservation {
  /** How much of the answer has to be known when it is released. */
  readonly readsAnswer?: 'nothing' | 'head' | 'body';
  release(answer?: AnswerFacts): void;
  refund(): void;
}

export type Admission =
  | {
      forward: true;
      /** Flat list of names and values for the response; they replace headers of the same name from the upstream. */
      responseHeaders: readonly string[];
      /** How long the request waits before it is forwarded, in milliseconds. */
      waitMs?: number;
      /** The route to which it goes instead of its own. There is one of this name. */
      reroutedTo?: string;
      /** What the request took: each is told when the exchange is over, or that the request never left for the upstream. */
      reservations?: readonly TakenReservation[];
    }
  | {
      forward: false;
      status: number;
      /** Flat list of names and values. */
      headers: readonly string[];
      /** application/problem+json, ready. */
      body: string;
    };

/**
 * Decides about a request, at once or later, by calling `done` once; a second call is ignored. It must not throw
 * and has to bound its own time.
 */
export type Admit = (request: InboundRequest, done: (admission: Admission) => void) => void;
