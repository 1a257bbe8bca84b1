import type { IncomingMessage, ServerResponse } from 'node:http';
import { PROBLEM_CONTENT_TYPE } from '#platform';
import type { Answer } from './describe.js';
import type { Door } from './door.js';
import type { RouteOptions } from './options.js';

/** As much of a request of Express, 4 or 5, as is looked at. Of node's own server the last three are missing. */
export interface ExpressRequest extends IncomingMessage {
  readonly originalUrl?: string;
  readonly baseUrl?: string;
  readonly body?: unknown;
}

export type ExpressMiddleware = (request: ExpressRequest, response: ServerResponse, next: (error?: unknown) => void) => void;

/** Express does not tell upper from lower case in paths, unless it is asked to. */
const CASE_SENSITIVE = false;

/** @throws OptionsError */
export function expressMiddleware(door: Door, options: RouteOptions): ExpressMiddleware {
  const route = door.prepare(options, 'express()');
  const ignorePathCase = !door.pathCaseSensitive(CASE_SENSITIVE);
  return (request, response, next) => {
    const asked = { seen: request, request, response, target: targetOf(request), ignorePathCase, body: request.body };
    door.admit(asked, route).then((admission) => {
      if (admission === 'gone') return;
      if (!admission.passes) return answer(response, admission.answer);
      setHeaders(response, admission.headers);
      next();
    }, next);
  };
}

/**
 * The path by which Express routes from here on: where the middleware is mounted, and what is left of the path there, which a middleware before may have rewritten. Nobody
 * else has looked at what was asked originally.
 */
export function targetOf({ url = '', baseUrl = '', originalUrl }: ExpressRequest): string {
  // Express writes a slash where nothing of a path is left behind the mount.
  if (originalUrl === baseUrl + (url.startsWith('/?') || url === '/' ? url.slice(1) : url)) return originalUrl;
  return baseUrl + url;
}

/** An answer of problem details, on node's own response. */
export function answer(response: ServerResponse, { status, headers, body }: Answer): void {
  response.statusCode = status;
  setHeaders(response, headers);
  response.setHeader('Content-Type', PROBLEM_CONTENT_TYPE);
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(body);
}

function setHeaders(response: ServerResponse, headers: readonly string[]): void {
  for (let i = 0; i < headers.length; i += 2) response.setHeader(headers[i]!, headers[i + 1]!);
}
