import { createClientOf, type IdentitySource, type Trust } from '#edge';
import type { ApiKeys } from '#enforcement';
import type { IdentityKind } from '#platform';
import { createKeyReader, type KeyedRequest } from './api-key.js';
import { type CertificateReaderOptions, type CertifiedRequest, createCertificateReader } from './certificate.js';
import { type BY_HEADER, type CredentialReader, inOrder, type Named, readHeader } from './caller.js';
import type { KnownTokens } from './known-tokens.js';
import { createTokenReader } from './token.js';

export type CredentialRequest = IdentitySource & KeyedRequest & CertifiedRequest;
type Reader = CredentialReader<CredentialRequest, Named | typeof BY_HEADER>;

export interface CredentialOptions {
  /** By what merchants are known, in order. */
  readonly kinds: readonly IdentityKind[];
  readonly trusts: Trust;
  /** The keys of merchants, where they are known by them. */
  readonly apiKeys: Pick<ApiKeys, 'get' | 'load'> | undefined;
  readonly apiKeyHeader: string;
  /** The tokens of the issuer, where they are known by them. */
  readonly tokens: Pick<KnownTokens, 'get' | 'check'> | undefined;
  readonly certificates: CertificateReaderOptions;
}

/** Looks for credentials in the configured order; nothing if merchants are known by X-Merchant-Id only, so that such a gateway looks for none. */
export function createCredentialReader(options: CredentialOptions): Reader | undefined {
  const { kinds } = options;
  if (kinds.length === 1 && kinds[0] === 'header') return undefined;
  return inOrder(kinds.map((kind) => readerOf(kind, options)));
}

function readerOf(kind: IdentityKind, { apiKeys, apiKeyHeader, tokens, certificates, trusts }: CredentialOptions): Reader {
  switch (kind) {
    case 'header':
      return readHeader;
    case 'api-key':
      return createKeyReader<CredentialRequest>({ keys: apiKeys!, clientOf: createClientOf({ trusts }), header: apiKeyHeader });
    case 'jwt':
      return createTokenReader<CredentialRequest>(tokens!);
    case 'certificate':
      return createCertificateReader<CredentialRequest>(certificates);
  }
}
