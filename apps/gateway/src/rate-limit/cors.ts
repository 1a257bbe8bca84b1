import type { CorsOrigins } from '#platform';
import type { OwnAnswer } from '../proxy/index.js';

/** Those that scripts may read without being told so (Fetch, "CORS-safelisted response-header name"), or that are for the browser alone. */
const NOT_EXPOSED: ReadonlySet<string> = new Set([
  'cache-control',
  'content-language',
  'content-length',
  'content-type',
  'expires',
  'vary',
  'x-content-type-options',
]);

/** Every answer has it. */
const REQUEST_ID = 'X-Request-Id';

/**
 * An answer of the gateway so that the script of a page may read it, if the page is of an origin that may. A preflight request is answered like any: it is refused by its
 * status, whatever its headers say.
 *
 * @param sent the values of the client's Origin header
 */
export function withCors(answer: OwnAnswer, origins: CorsOrigins, sent: readonly string[]): OwnAnswer {
  const all = origins === '*';
  // Caches have to know that other origins get other headers.
  const headers = all ? [...answer.headers] : [...answer.headers, 'Vary', 'Origin'];
  const [origin] = sent;
  const may = origin !== undefined && sent.length === 1 && (all || origins.includes(origin));
  if (!may) return { ...answer, headers };
  headers.push('Access-Control-Allow-Origin', all ? '*' : origin);
  // Browsers believe no `*` of requests with cookies or certificates.
  if (!all) headers.push('Access-Control-Allow-Credentials', 'true');
  headers.push('Access-Control-Expose-Headers', exposed(answer.headers).join(', '));
  return { ...answer, headers };
}

function exposed(headers: readonly string[]): string[] {
  const names = headers.filter((name, i) => i % 2 === 0 && !NOT_EXPOSED.has(name.toLowerCase()));
  return [...new Set([...names, REQUEST_ID])];
}
