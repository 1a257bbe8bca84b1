import { nearestName } from '../fields/nearest-name.js';

/**
 * The methods that a request can have: those of the IANA registry, and the few others that HTTP servers read. A server answers 400 to any other, before a rule
 * is asked. The common ones first, because the first of several near names is proposed.
 */
const METHODS: readonly string[] = [
  ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT', 'QUERY'],
  ...['ACL', 'BASELINE-CONTROL', 'BIND', 'CHECKIN', 'CHECKOUT', 'COPY', 'LABEL', 'LINK', 'LOCK', 'M-SEARCH', 'MERGE', 'MKACTIVITY'],
  ...['MKCALENDAR', 'MKCOL', 'MKREDIRECTREF', 'MKWORKSPACE', 'MOVE', 'NOTIFY', 'ORDERPATCH', 'PRI', 'PROPFIND', 'PROPPATCH', 'PURGE'],
  ...['REBIND', 'REPORT', 'SEARCH', 'SOURCE', 'SUBSCRIBE', 'UNBIND', 'UNCHECKOUT', 'UNLINK', 'UNLOCK', 'UNSUBSCRIBE', 'UPDATE'],
  ...['UPDATEREDIRECTREF', 'VERSION-CONTROL'],
];

const KNOWN = new Set(METHODS);

/** What is expected instead of this method; nothing if requests can have it. */
export function unknownMethod(method: string): string | undefined {
  if (KNOWN.has(method)) return undefined;
  const meant = nearestName(method, METHODS) ?? METHODS.find((known) => lettersOf(known) === lettersOf(method));
  return `must be a method of HTTP, which no request has otherwise${meant === undefined ? '' : `; did you mean "${meant}"?`}`;
}

/** In the order of the alphabet: the same for two neighbours that have changed places. */
function lettersOf(method: string): string {
  return [...method].sort().join('');
}
