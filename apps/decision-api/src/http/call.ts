import type { IncomingMessage } from 'node:http';
import type { Answer } from './answer.js';

/** A call, by somebody who may make it. */
export interface Call {
  readonly method: string;
  readonly query: URLSearchParams;
  /** The caller's own, if it was valid, otherwise generated; harmless characters only. */
  readonly requestId: string;
  /** The name of the caller. */
  readonly caller: string;
  /** Remote address of the connection, in canonical text. */
  readonly peer: string;
  /** Names and values alternating, as Node decodes them. */
  readonly rawHeaders: IncomingMessage['rawHeaders'];
  /** A JSON object. To be read once. @throws ProblemError */
  body(mostBytes: number): Promise<Readonly<Record<string, unknown>>>;
  /** Whoever asked for the answer has left, or sends nothing more. */
  readonly left: AbortSignal;
}

export interface Route {
  /** Undefined: all that there are. */
  readonly method?: 'GET' | 'POST' | undefined;
  /** @throws ProblemError, and what `errors.ts` knows */
  readonly handle: (call: Call) => Promise<Answer>;
}

/** By path. */
export type Routes = Readonly<Record<string, Route>>;
