import { ProblemError } from './problem.js';

const VERSIONS: readonly string[] = ['1.1', '1.0'];

/**
 * Node's parser takes a request line with HTTP/2.0 or HTTP/0.9 as well, with the framing of HTTP/1.1. It is not known whether what follows is framed so, and
 * nothing more is read.
 *
 * @throws ProblemError 505
 */
export function demandKnownVersion({ httpVersion }: { readonly httpVersion: string }): void {
  if (VERSIONS.includes(httpVersion)) return;
  throw new ProblemError({
    status: 505,
    code: 'request.http_version',
    detail: 'The supported versions are HTTP/1.1 and HTTP/1.0.',
    headers: { connection: 'close' },
  });
}
