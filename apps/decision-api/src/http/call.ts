import type { IncomingMessage } from 'node:http';
import type { Answer } from './answer.js';

/** A call, by somebody who may make it. */
export interface Call {
  readonly method: string;
  readonly query: URLSearchParams;
  /** Path and query as they came. */
  readonly target: string;
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
  /** The body whatever it is, instead. @throws ProblemError */
  bytes(mostBytes: number): Promise<Buffer>;
  /** Whoever asked for the answer has left, or sends nothing more. */
  readonly left: AbortSignal;
}

/** How a call is made that comes as one whole, plain request. */
export interface PlainRoute {
  /** Of the body. A larger one is left to `handle`. */
  readonly mostBytes: number;
  /** Answers once, perhaps before it returns, or throws what `handle` rejects with. The same as `handle` answers to the same call without a query. */
  readonly handle: (body: Buffer, call: Pick<Call, 'caller' | 'requestId'>, answered: (outcome: Answer | Error) => void) => void;
}

export interface Route {
  /** Undefined: all that there are. */
  readonly method?: 'GET' | 'POST' | undefined;
  /** @throws ProblemError, and what `errors.ts` knows */
  readonly handle: (call: Call) => Promise<Answer>;
  /** For calls that are made very often. */
  readonly plain?: PlainRoute | undefined;
}

/** By path. One that ends in `/**` is for all paths below it. */
export type Routes = Readonly<Record<string, Route>>;

/** The name under which the routes have a path; undefined if there is none. */
export function routeName(routes: Routes, path: string): string | undefined {
  if (Object.hasOwn(routes, path)) return path;
  return Object.keys(routes).find((name) => name.endsWith('/**') && path.startsWith(name.slice(0, -2)));
}
