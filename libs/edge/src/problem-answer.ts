import { problemTypeUri, type ProblemType } from '#platform';

interface ProblemOptions {
  /** Flat list of names and values of additional response headers. */
  readonly headers?: readonly string[];
  /** Further members of the body. */
  readonly extensions?: Readonly<Record<string, string>>;
}

/** An answer that a door gives by itself, as RFC 9457 problem details. All but the request id is prepared. */
export class Problem {
  readonly headers: readonly string[];
  private start: string | undefined;

  /** @param code stable, for programs; finer than the type */
  constructor(
    readonly status: number,
    readonly title: string,
    private readonly type: ProblemType,
    private readonly code: string,
    private readonly detail: string,
    private readonly options: ProblemOptions = {},
  ) {
    this.headers = options.headers ?? [];
  }

  /** @param requestId needs no escaping, see `isRequestId`. */
  body(requestId: string): string {
    // Written with the first answer, because only the configuration says where the pages of the types are.
    this.start ??= this.written();
    return `${this.start}${requestId}"}`;
  }

  /** As an answer to a request. */
  answer(requestId: string): { status: number; headers: readonly string[]; body: string } {
    return { status: this.status, headers: this.headers, body: this.body(requestId) };
  }

  private written(): string {
    const { status, title, type, code, detail, options } = this;
    const members = JSON.stringify({ type: problemTypeUri(type), code, title, status, detail, ...options.extensions });
    return `${members.slice(0, -1)},"requestId":"`;
  }
}
