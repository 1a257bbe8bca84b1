import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { bearerTokenIn, type DecisionCaller, unauthorized } from '#platform';
import { parseAddress } from '#addresses';
import type { ShownCertificate } from '#edge';
import type { CertifiedCallers } from './certified-callers.js';

/** For proxies that pass on the Authorization of their own clients. */
export const TOKEN_HEADER = 'x-tollgate-token';

/** The caller where nobody needs a token. */
export const LOCAL_CALLER = 'local';

/** Who may ask: whoever has one of the tokens, or a certificate; where neither is known, this machine alone. Of tokens only hashes are known here. */
export class Callers {
  /** @param certified undefined: callers are not asked for certificates */
  constructor(
    private readonly known: readonly DecisionCaller[],
    private readonly certified?: CertifiedCallers,
  ) {}

  /** What a call brings to say who it is from; empty: nothing. */
  credentialIn({ headers }: Pick<IncomingMessage, 'headers'>): string {
    const own = headers[TOKEN_HEADER];
    if (own !== undefined) return typeof own === 'string' ? own : own.join(', ');
    const { authorization = '' } = headers;
    return bearerTokenIn(authorization) ?? authorization;
  }

  /**
   * The name of the caller. A certificate goes before whatever a call brings: a proxy passes on the Authorization of its own clients.
   *
   * @param peer in canonical text
   * @param shown what the connection has shown
   * @throws ProblemError 401, 403
   */
  named(credential: string, peer: string, shown: ShownCertificate | null = null): string {
    if (shown !== null && this.certified !== undefined) return this.certified.named(shown);
    if (this.known.length === 0) {
      if (this.certified !== undefined)
        throw unauthorized(
          'decision_api.certificate_missing',
          'this decision API has no tokens: show a certificate of DECISION_API_TLS_CLIENT_CA',
        );
      if (isLoopback(peer)) return LOCAL_CALLER;
      throw unauthorized('decision_api.no_tokens', 'this decision API has no tokens, so it answers callers on its own machine only');
    }
    if (credential === '') throw unauthorized('token.missing', `send the header Authorization: Bearer TOKEN, or ${TOKEN_HEADER}`);
    const digest = createHash('sha256').update(credential).digest();
    // All of them, whichever it is: the time tells nothing.
    let found: string | undefined;
    for (const caller of this.known) if (timingSafeEqual(caller.digest, digest)) found = caller.name;
    if (found === undefined) throw unauthorized('token.invalid', 'this is not a valid token', 'invalid_token');
    return found;
  }
}

function isLoopback(peer: string): boolean {
  return parseAddress(peer)?.range() === 'loopback';
}
