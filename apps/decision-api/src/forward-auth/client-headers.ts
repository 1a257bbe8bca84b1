import { headerValues } from '#edge';

/**
 * What the client has sent, as far as the proxy passes it on to here.
 *
 * @param ofTheProxy names in lower case, which are said by the proxy and not by its client
 */
export function clientHeaders(rawHeaders: readonly string[], ofTheProxy: ReadonlySet<string>): Record<string, readonly string[]> {
  const headers: Record<string, readonly string[]> = Object.create(null) as Record<string, readonly string[]>;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    // What other doors of Tollgate say of a request is said by no client: rules that look at it would be chosen by clients.
    if (!ofTheProxy.has(name) && !name.startsWith('x-tollgate-') && headers[name] === undefined)
      headers[name] = headerValues(rawHeaders, name);
  }
  return headers;
}
