import { STATUS_CODES } from 'node:http';

export const PROBLEM_CONTENT_TYPE = 'application/problem+json';

/** One field that is wrong: where it stands in the request's body (JSON pointer), and what was expected. */
export interface BodyFieldError {
  readonly pointer: string;
  readonly detail: string;
}

/** One query parameter that is wrong. */
export interface ParameterError {
  readonly parameter: string;
  readonly detail: string;
}

export type FieldError = BodyFieldError | ParameterError;

export interface ProblemFields {
  readonly status: number;
  /** What went wrong this time, for the caller's eyes. */
  readonly detail: string;
  /** `about:blank` (the status says it all) unless given. */
  readonly type?: string;
  /** The status phrase unless given. */
  readonly title?: string;
  readonly errors?: readonly FieldError[];
  /** Further members of the body, like `violated-policies`. */
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** A body of RFC 9457, ready for JSON. `instance` is the path of the request, without its query. */
export function problemBody(problem: ProblemFields, instance?: string): Record<string, unknown> {
  const { status, detail, type = 'about:blank', title = STATUS_CODES[status] ?? 'Error', errors, extensions } = problem;
  return { type, title, status, detail, ...(instance !== undefined && { instance }), ...(errors && { errors }), ...extensions };
}

/** An error that is answered as the problem it describes. */
export class ProblemError extends Error {
  readonly status: number;
  readonly type: string;
  readonly title: string;
  readonly detail: string;
  readonly errors?: readonly FieldError[];
  readonly extensions?: Readonly<Record<string, unknown>>;
  /** Response headers that belong to the problem, like WWW-Authenticate. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(problem: ProblemFields & { headers?: Readonly<Record<string, string>> }, options?: ErrorOptions) {
    super(problem.detail, options);
    this.name = 'ProblemError';
    this.status = problem.status;
    this.type = problem.type ?? 'about:blank';
    this.title = problem.title ?? STATUS_CODES[problem.status] ?? 'Error';
    this.detail = problem.detail;
    if (problem.errors) this.errors = problem.errors;
    if (problem.extensions) this.extensions = problem.extensions;
    this.headers = problem.headers ?? {};
  }
}
