/**
 * The types of problems that Tollgate answers with, and the status that each mostly has. Of several types with a status the first is that of a problem that
 * names none. Each has a page of the same name in
 * docs/problems, which the Rules API serves. What tells problems of one type apart is their `code`.
 */
const PROBLEM_TYPES = {
  'bad-request': { status: 400 },
  'invalid-body': { status: 400 },
  'invalid-query': { status: 400 },
  'ambiguous-path': { status: 400 },
  unauthorized: { status: 401 },
  'unidentified-merchant': { status: 401 },
  forbidden: { status: 403 },
  'unknown-merchant': { status: 403 },
  'not-found': { status: 404 },
  'method-not-allowed': { status: 405 },
  'request-timeout': { status: 408 },
  conflict: { status: 409 },
  'precondition-failed': { status: 412 },
  'content-too-large': { status: 413 },
  'unsupported-media-type': { status: 415 },
  'expectation-failed': { status: 417 },
  'unprocessable-content': { status: 422 },
  'precondition-required': { status: 428 },
  'quota-exceeded': { status: 429, registered: true },
  'abnormal-usage-detected': { status: 429, registered: true },
  'too-many-attempts': { status: 429 },
  'request-header-fields-too-large': { status: 431 },
  'internal-server-error': { status: 500 },
  'not-implemented': { status: 501 },
  'bad-gateway': { status: 502 },
  'service-unavailable': { status: 503 },
  'temporary-reduced-capacity': { status: 503, registered: true },
  'gateway-timeout': { status: 504 },
  'http-version-not-supported': { status: 505 },
} as const satisfies Record<string, { readonly status: number; readonly registered?: true }>;

export type ProblemType = keyof typeof PROBLEM_TYPES;

export const PROBLEM_TYPE_NAMES = Object.keys(PROBLEM_TYPES) as readonly ProblemType[];

/** Types of draft-ietf-httpapi-ratelimit-headers-10 keep their own URIs, which clients know. */
const REGISTERED_BASE = 'https://iana.org/assignments/http-problem-types#';

/** Where `npm start` serves the pages. */
export const DEFAULT_PROBLEM_TYPE_BASE = 'http://127.0.0.1:3000/problems/';

let base = DEFAULT_PROBLEM_TYPE_BASE;

/** Says where the pages are served. Set once, before the process serves anything. @param url ends with a slash */
export function setProblemTypeBase(url: string): void {
  base = url;
}

/** The URI of a problem type, which leads to its page. */
export function problemTypeUri(type: ProblemType): string {
  return ('registered' in PROBLEM_TYPES[type] ? REGISTERED_BASE : base) + type;
}

/** The type of a problem of which only the status is known: the first one with this status. */
export function problemTypeOfStatus(status: number): ProblemType {
  const type = PROBLEM_TYPE_NAMES.find((each) => PROBLEM_TYPES[each].status === status);
  return type ?? (status >= 500 ? 'internal-server-error' : 'bad-request');
}
