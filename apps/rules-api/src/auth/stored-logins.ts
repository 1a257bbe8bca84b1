import { isMerchantId } from '#limiter';
import { API_KEY_TEXT, type ProblemError, type SecretText, unauthorized } from '#platform';
import {
  type ApiTokenRepository,
  type HashedSecret,
  type MerchantApiKeyRepository,
  ROLES,
  type Role,
  type StoredApiKey,
  type StoredToken,
} from '#rules-db';
import { databaseUnavailable } from '../http/rules-api-exception.filter.js';
import { LABEL_FILTER, labelIn } from '../pagination/label-filter.js';
import type { Login } from './logins.js';
import type { Merchant, Principal } from './principal.js';

/** Where secrets of one kind are stored. */
interface SecretStore<S> {
  byPrefix(prefix: string): Promise<S | null>;
  used(id: string, at: Date): Promise<void>;
}

interface StoredSecret extends HashedSecret {
  readonly id: string;
  readonly until: Date | null;
}

export interface StoredLoginsOptions {
  /** False while the database cannot be asked. */
  readonly isReady: () => boolean;
  readonly nowMs: () => number;
}

/** Looks up tokens of administrators and machines. */
export function tokenLogins(
  store: Pick<ApiTokenRepository, 'byPrefix' | 'used'>,
  text: SecretText,
  options: StoredLoginsOptions,
): (token: string) => Promise<Login<Principal> | ProblemError> {
  return (token) => login(store, text, principalIn, token, options);
}

/** Looks up the API keys of merchants. */
export function apiKeyLogins(
  store: Pick<MerchantApiKeyRepository, 'byPrefix' | 'used'>,
  options: StoredLoginsOptions,
): (token: string) => Promise<Login<Merchant> | ProblemError> {
  return (token) => login(store, API_KEY_TEXT, merchantIn, token, options);
}

async function login<S extends StoredSecret, P>(
  store: SecretStore<S>,
  text: SecretText,
  principalOf: (stored: S) => P | undefined,
  token: string,
  { isReady, nowMs }: StoredLoginsOptions,
): Promise<Login<P> | ProblemError> {
  const prefix = text.prefixOf(token);
  if (prefix === undefined) return invalidToken();
  if (!isReady()) return databaseUnavailable();
  const stored = await store.byPrefix(prefix);
  const principal = stored === null || !text.matches(token, stored.hash) ? undefined : principalOf(stored);
  const untilMs = stored?.until?.getTime() ?? Infinity;
  if (stored === null || principal === undefined || nowMs() >= untilMs) return invalidToken();
  return { principal, untilMs, noteUse: (at) => store.used(stored.id, at) };
}

/** Rows have been edited by hand before: one that makes no sense is nobody's token. */
function principalIn({ name, role, merchants, label }: StoredToken): Principal | undefined {
  if (!(ROLES as readonly string[]).includes(role)) return undefined;
  if (merchants !== null && !(Array.isArray(merchants) && merchants.every((id) => typeof id === 'string'))) return undefined;
  if (label === null) return { name, role: role as Role, merchants: merchants as readonly string[] | null };
  if (typeof label !== 'string' || LABEL_FILTER.format.fault(label) !== undefined) return undefined;
  return { name, role: role as Role, merchants: [], label: labelIn(label) };
}

function merchantIn({ id, merchantId }: StoredApiKey): Merchant | undefined {
  return isMerchantId(merchantId) ? { merchantId, keyId: id } : undefined;
}

export function invalidToken(detail = 'this is not a valid token'): ProblemError {
  return unauthorized('token.invalid', detail, 'invalid_token');
}
