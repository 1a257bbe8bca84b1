import { peerGroup } from '#addresses';
import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { type Logger, BearerToken, bearerTokenIn, ProblemError, unauthorized } from '#platform';
import { type ApiTokenRepository, ROLES, type Role, type StoredToken } from '#rules-db';
import { asProblem, databaseUnavailable } from '../http/rules-api-exception.filter.js';
import { FailedLogins, RETRY_AFTER_SECONDS } from './failed-logins.js';
import { FIRST_ADMIN, type Principal, setPrincipal } from './principal.js';
import type { TokenText } from './token-text.js';

/** A token that was revoked is refused this long after it was last looked up, at the latest. Milliseconds. */
const BELIEVED_MS = 1_000;
/** A token that was good is looked up again without being counted as a try for so long. Milliseconds. */
const REMEMBERED_MS = 3_600_000;
const MAX_REMEMBERED = 2_000;
/** Last use is written at most so often. Milliseconds. */
const USE_WRITTEN_EVERY_MS = 60_000;

interface Remembered {
  readonly principal: Principal;
  /** When the token stops being good by itself; Infinity: never. */
  readonly untilMs: number;
  readonly lookedUpMs: number;
  useWrittenMs: number;
}

export interface AuthenticatorOptions {
  readonly adminToken: string;
  readonly tokenText: TokenText;
  readonly tokens: Pick<ApiTokenRepository, 'byPrefix' | 'used'>;
  /** False while the database cannot be asked. */
  readonly isReady: () => boolean;
  readonly logger: Logger;
  readonly nowMs?: () => number;
}

/** Finds out who makes a request, before its body is read: strangers must not make this process parse anything. */
export class Authenticator {
  private readonly adminToken: BearerToken;
  private readonly failedLogins: FailedLogins;
  private readonly nowMs: () => number;
  /** By the digest of the token: the token itself is kept nowhere. The one that was looked up first is dropped first. */
  private readonly remembered = new Map<string, Remembered>();

  constructor(private readonly options: AuthenticatorOptions) {
    this.adminToken = new BearerToken(options.adminToken);
    this.nowMs = options.nowMs ?? Date.now;
    this.failedLogins = new FailedLogins(this.nowMs);
  }

  /** Why a request is refused; otherwise `principalOf` knows who makes it. Routes outside of the API are nobody's business. */
  readonly refusal = async (request: FastifyRequest): Promise<ProblemError | undefined> => {
    if (!request.routeOptions.url?.startsWith('/v1/')) return undefined;
    const { authorization } = request.headers;
    if (authorization === undefined) return unauthorized('token.missing', 'send the header Authorization: Bearer TOKEN');
    const token = bearerTokenIn(authorization);
    if (token === undefined) return unauthorized('token.invalid', 'this is not a valid token', 'invalid_token');
    if (this.adminToken.is(token)) {
      setPrincipal(request, FIRST_ADMIN);
      return undefined;
    }
    try {
      const principal = await this.principal(token, peerGroup(request.ip));
      if (principal instanceof ProblemError) return principal;
      setPrincipal(request, principal);
      return undefined;
    } catch (error) {
      return asProblem(error) ?? databaseUnavailable(error);
    }
  };

  private async principal(token: string, peer: string): Promise<Principal | ProblemError> {
    const digest = createHash('sha256').update(token).digest('base64');
    const known = this.remembered.get(digest);
    const nowMs = this.nowMs();
    const age = known === undefined ? Infinity : Math.abs(nowMs - known.lookedUpMs);
    if (known !== undefined && age < BELIEVED_MS && nowMs < known.untilMs) return known.principal;
    if (age > REMEMBERED_MS && !this.failedLogins.mayTry(peer)) return tooManyTries();
    const prefix = this.options.tokenText.prefixOf(token);
    if (prefix === undefined) return invalidToken();
    if (!this.options.isReady()) return databaseUnavailable();
    const stored = await this.options.tokens.byPrefix(prefix);
    this.remembered.delete(digest);
    const principal = stored === null || !this.options.tokenText.matches(token, stored.hash) ? undefined : principalIn(stored);
    const untilMs = stored?.until?.getTime() ?? Infinity;
    if (stored === null || principal === undefined || this.nowMs() >= untilMs) return invalidToken();
    this.remember(digest, { principal, untilMs, lookedUpMs: nowMs, useWrittenMs: known?.useWrittenMs ?? -Infinity }, stored.id);
    return principal;
  }

  private remember(digest: string, found: Remembered, id: string): void {
    if (this.remembered.size >= MAX_REMEMBERED) this.remembered.delete(this.remembered.keys().next().value!);
    this.remembered.set(digest, found);
    if (Math.abs(found.lookedUpMs - found.useWrittenMs) < USE_WRITTEN_EVERY_MS) return;
    found.useWrittenMs = found.lookedUpMs;
    this.options.tokens
      .used(id, new Date(found.lookedUpMs))
      .catch((err: unknown) => this.options.logger.warn({ err, tokenId: id }, 'the last use of a token could not be written'));
  }
}

/** Rows have been edited by hand before: one that makes no sense is nobody's token. */
function principalIn({ name, role, merchants }: StoredToken): Principal | undefined {
  if (!(ROLES as readonly string[]).includes(role)) return undefined;
  if (merchants !== null && !(Array.isArray(merchants) && merchants.every((id) => typeof id === 'string'))) return undefined;
  return { name, role: role as Role, merchants: merchants as readonly string[] | null };
}

function invalidToken(): ProblemError {
  return unauthorized('token.invalid', 'this is not a valid token', 'invalid_token');
}

function tooManyTries(): ProblemError {
  return new ProblemError({
    status: 429,
    type: 'too-many-attempts',
    code: 'token.too_many_attempts',
    detail: 'too many tokens that are not known came from your address; wait before you try another one',
    headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
  });
}
