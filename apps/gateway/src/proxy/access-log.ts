/** Characters of a path: a line of the log is bounded. */
const MOST_PATH_CHARACTERS = 512;

/** What the access log tells of a request that has ended. */
export interface EndedRequest {
  readonly requestId: string;
  /** Undefined: none was known. */
  readonly merchant: string | undefined;
  readonly method: string;
  /** Path and query as they were forwarded, or as they came. */
  readonly target: string;
  /** Of the answer that the client was given; 0: none. */
  readonly status: number;
  readonly outcome: string;
  readonly durationMs: number;
  /** Of a request whose trace is kept. */
  readonly traceId?: string | undefined;
}

/** A line of the log for every request: who, what, how it ended and how long it took. No header, no query, no address. */
export class AccessLog {
  constructor(private readonly logger: { info(fields: object, message: string): void }) {}

  add({ target, durationMs, ...request }: EndedRequest): void {
    const path = target.split(/[?#]/, 1)[0]!.slice(0, MOST_PATH_CHARACTERS);
    this.logger.info({ ...request, path, durationMs: Math.round(durationMs * 10) / 10 }, 'request');
  }
}
