import type { IncomingHttpHeaders } from 'node:http';

/** As much of node's request as a decision needs: of `node:http` or the compatible form of `node:http2`, whatever framework stands on it. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Names and values alternating, as they came. */
  readonly rawHeaders: readonly string[];
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** As much of node's response. */
export interface NodeResponse {
  readonly statusCode: number;
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  readonly destroyed: boolean;
  getHeader(name: string): number | string | readonly string[] | undefined;
  setHeader(name: string, value: string): unknown;
  once(event: 'close' | 'finish', listener: () => void): unknown;
}

/** A request as a framework has it. */
export interface Asked {
  /** What the functions of the options are given. */
  readonly seen: unknown;
  readonly request: NodeRequest;
  readonly response: NodeResponse;
  /** Path and query as the framework routes them. */
  readonly target: string;
  readonly ignorePathCase: boolean;
  /** What has been parsed of the body; undefined: nothing. */
  readonly body: unknown;
}
