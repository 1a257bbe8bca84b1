import { peerGroup } from '#addresses';
import type { FastifyRequest } from 'fastify';
import { isJwt } from '#jwt';
import { API_KEY_TEXT, type Logger, BearerToken, bearerTokenIn, ProblemError, unauthorized } from '#platform';
import type { ApiTokenRepository, MerchantApiKeyRepository } from '#rules-db';
import { asProblem, databaseUnavailable } from '../http/rules-api-exception.filter.js';
import { FailedLogins } from './failed-logins.js';
import { forbidden, OPENS_ONLY_ME } from './forbidden.js';
import { type Login, Logins } from './logins.js';

import { FIRST_ADMIN, type Merchant, type Principal, setMerchant, setPrincipal } from './principal.js';
import { apiKeyLogins, invalidToken, tokenLogins } from './stored-logins.js';
import type { TokenText } from './token-text.js';

export interface AuthenticatorOptions {
  readonly adminToken: string;
  readonly tokenText: TokenText;
  readonly tokens: Pick<ApiTokenRepository, 'byPrefix' | 'used'>;
  readonly apiKeys: Pick<MerchantApiKeyRepository, 'byPrefix' | 'used'>;
  /** Recognises tokens of an OIDC issuer, where one is configured. */
  readonly oidc?: ((token: string) => Promise<Login<Principal> | ProblemError>) | undefined;
  /** False while the database cannot be asked. */
  readonly isReady: () => boolean;
  readonly logger: Logger;
  readonly nowMs?: () => number;
}

/** Finds out who makes a request, before its body is read: strangers must not make this process parse anything. */
export class Authenticator {
  private readonly adminToken: BearerToken;
  private readonly tokens: Logins<Principal>;
  private readonly apiKeys: Logins<Merchant>;
  private readonly oidc: Logins<Principal> | undefined;

  constructor({ adminToken, tokenText, tokens, apiKeys, oidc, isReady, logger, nowMs = Date.now }: AuthenticatorOptions) {
    this.adminToken = new BearerToken(adminToken);
    // One for all kinds: whoever guesses gains nothing by guessing another one.
    const common = { failedLogins: new FailedLogins(nowMs), logger, nowMs };
    this.tokens = new Logins({ ...common, lookUp: tokenLogins(tokens, tokenText, { isReady, nowMs }) });
    this.apiKeys = new Logins({ ...common, lookUp: apiKeyLogins(apiKeys, { isReady, nowMs }) });
    this.oidc = oidc && new Logins({ ...common, lookUp: oidc });
  }

  /** Why a request is refused; otherwise `principalOf` or `merchantOf` knows who makes it. Routes outside of the API are nobody's business. */
  readonly refusal = async (request: FastifyRequest): Promise<ProblemError | undefined> => {
    if (!request.routeOptions.url?.startsWith('/v1/')) return undefined;
    const { authorization } = request.headers;
    if (authorization === undefined) return unauthorized('token.missing', 'send the header Authorization: Bearer TOKEN');
    const token = bearerTokenIn(authorization);
    if (token === undefined) return invalidToken();
    if (this.adminToken.is(token)) {
      setPrincipal(request, FIRST_ADMIN);
      return undefined;
    }
    try {
      return await this.logIn(request, token, peerGroup(request.ip));
    } catch (error) {
      return asProblem(error) ?? databaseUnavailable(error);
    }
  };

  private async logIn(request: FastifyRequest, token: string, peer: string): Promise<ProblemError | undefined> {
    if (API_KEY_TEXT.claims(token)) {
      const merchant = await this.apiKeys.principal(token, peer);
      if (merchant instanceof ProblemError) return merchant;
      // Here and not only in the guard, so that no merchant can make this process parse a body.
      if (!request.routeOptions.url?.startsWith('/v1/me/')) return forbidden(OPENS_ONLY_ME);
      setMerchant(request, merchant);
      return undefined;
    }
    const logins = this.oidc !== undefined && isJwt(token) ? this.oidc : this.tokens;
    const principal = await logins.principal(token, peer);
    if (principal instanceof ProblemError) return principal;
    setPrincipal(request, principal);
    return undefined;
  }
}
