import { STATUS_CODES } from 'node:http';
import { problemTypeOfStatus, problemTypeUri, type ProblemType } from './problem-types.js';

export const PROBLEM_CONTENT_TYPE = 'application/problem+json';

/** One field that is wrong: where it stands in the request's body (JSON pointer), and what was expected. */
export interface BodyFieldError {
  readonly pointer: string;
  /** Stable, for programs: `limit.capacity.out_of_range`. */
  readonly code: string;
  readonly detail: string;
}

/** One query parameter that is wrong. */
export interface ParameterError {
  readonly parameter: string;
  readonly code: string;
  readonly detail: string;
}

export type FieldError = BodyFieldError | ParameterError;

export interface ProblemFields {
  readonly status: number;
  /** What went wrong this time, for the caller's eyes. */
  readonly detail: string;
  /** The one that the status stands for unless given. */
  readonly type?: ProblemType;
  /** Stable, for programs, and finer than the type; the type in snake case unless given. */
  readonly code?: string;
  /** The status phrase unless given. */
  readonly title?: string;
  readonly errors?: readonly FieldError[];
  /** Further members of the body, like `violated-policies`. */
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** A body of RFC 9457, ready for JSON. `instance` is the path of the request, without its query. */
export function problemBody(problem: ProblemFields, instance?: string): Record<string, unknown> {
  const { status, detail, type = problemTypeOfStatus(status), errors, extensions } = problem;
  const { code = type.replaceAll('-', '_'), title = STATUS_CODES[status] ?? 'Error' } = problem;
  return {
    type: problemTypeUri(type),
    code,
    title,
    status,
    detail,
    ...(instance !== undefined && { instance }),
    ...(errors && { errors }),
    ...extensions,
  };
}

/** An error that is answered as the problem it describes. */
export class ProblemError extends Error implements ProblemFields {
  readonly status: number;
  readonly type: ProblemType;
  readonly code: string;
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
    this.type = problem.type ?? problemTypeOfStatus(problem.status);
    this.code = problem.code ?? this.type.replaceAll('-', '_');
    this.title = problem.title ?? STATUS_CODES[problem.status] ?? 'Error';
    this.detail = problem.detail;
    if (problem.errors) this.errors = problem.errors;
    if (problem.extensions) this.extensions = problem.extensions;
    this.headers = problem.headers ?? {};
  }
}
