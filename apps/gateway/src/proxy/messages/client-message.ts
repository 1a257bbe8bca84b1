/**
 * A request as its client's connection hands it over: what is used of node's IncomingMessage, so that a stream of HTTP/2 can be one as well.
 * The names are those of HTTP/1.1: Host is a header, and a body without a length is `Transfer-Encoding: chunked`.
 */
export interface ClientRequest {
  readonly httpVersion: string;
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** Names and values alternating. */
  readonly rawHeaders: readonly string[];
  /** Whether node has let go of its connection, because it asks to speak WebSocket from then on. */
  readonly upgrade?: boolean | undefined;
  /** Whether it has arrived whole. */
  readonly complete: boolean;
  /** What came behind the body, once it is whole: names and values alternating. */
  readonly rawTrailers: readonly string[];
  /** Whether `end` has been told already: of HTTP/2 an empty body is, before anybody listens. */
  readonly readableEnded: boolean;
  on(event: 'data', listener: (chunk: Buffer) => void): this;
  on(event: 'end' | 'close', listener: () => void): this;
  off(event: 'data', listener: (chunk: Buffer) => void): this;
  off(event: 'end' | 'close', listener: () => void): this;
  read(): unknown;
  pause(): unknown;
  resume(): unknown;
}

/** The answer to such a request: what is used of node's ServerResponse. */
export interface ClientResponse {
  readonly statusCode: number;
  /** Whether the connection goes on after the answer, as far as the answer is concerned. */
  readonly shouldKeepAlive: boolean;
  /** @param headers a flat list of names and values */
  writeHead(status: number, headers: string[]): unknown;
  /** Sends the headers, if no body has taken them along. */
  flushHeaders(): void;
  /** @returns false if the client does not read as fast as this is written; then `drain` follows */
  write(chunk: Buffer): boolean;
  end(body?: Buffer): unknown;
  end(body: string, encoding: 'latin1'): unknown;
  once(event: 'drain' | 'finish', listener: () => void): unknown;
  /** 100: the client may send the body. */
  writeContinue(): void;
  /** What comes behind a body whose length was not announced; nothing for any other. To be said before the end. */
  addTrailers(trailers: [string, string][]): void;
  /** Sends an interim answer, where that is not done by writing to the connection. @param headers flat list of names and values */
  inform?(status: number, headers: readonly string[]): void;
  /** Where it is written, while no other answer is. */
  readonly socket?: { write(text: string, encoding: 'latin1'): unknown } | null;
  /** 102: something comes, later. */
  writeProcessing(): void;
}

/** What an answer has to know of the connection on which it is given. */
export interface AnsweredConnection {
  /** Whether the current answer is the last one. */
  readonly endsAfterCurrent: boolean;
  /** The answer ends before the request has, and the connection with it: lets the client read it, and takes a bounded rest of the request. */
  linger(request: ClientRequest): void;
  /** The answer ends before the request has, and the connection goes on if the rest comes within bounds. */
  cutUnlessComplete(request: ClientRequest): void;
}
