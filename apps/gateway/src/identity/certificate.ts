import type { X509Certificate } from 'node:crypto';
import { type CertificatePart, type CertificateTimes, isGoodAt, namesIn, timesOf } from '#edge';
import { type CacheEntry, isMerchantId, SieveCache } from '#limiter';
import type { Caller, CertificateProblem, CredentialReader } from './caller.js';
import { type CertificateHeader, forwardedNames } from './forwarded-certificate.js';

/** What a request has of certificates. */
export interface CertifiedRequest {
  /** Whether the peer may say who the client is. */
  readonly trusted: boolean;
  /** What the client has shown on its own connection; null: nothing, or it was not asked. */
  readonly certificate: { readonly certificate: X509Certificate; readonly verified: boolean } | null;
  /** The values of a header as the client sent them, one for each line. @param name in lower case */
  receivedValues(name: string): readonly string[];
}

export interface CertificateReaderOptions {
  readonly part: CertificatePart;
  /** What the name begins with that names a merchant; the rest is its id. */
  readonly prefix: string;
  /** The header in which trusted peers say the certificate of their client; empty: they do not. */
  readonly header: CertificateHeader | '';
  readonly nowMs?: () => number;
}

type Found = Caller | CertificateProblem;

interface Shown extends CertificateTimes {
  readonly found: Found;
}

interface Told extends CacheEntry {
  readonly found: Found;
}

/** What headers that were read may take in memory, so that a client that comes again does not cost a certificate each time. */
const TOLD_BYTES = 4 * 2 ** 20;
const TOLD_ENTRY_BYTES = 300;

/**
 * Finds out who shows a certificate. Where trusted peers say in a header which one their client has shown, only that counts for what comes from them: the
 * certificate on their own connection is the proxy's.
 */
export function createCertificateReader<R extends CertifiedRequest>(options: CertificateReaderOptions): CredentialReader<R> {
  const { header, part, prefix, nowMs = Date.now } = options;
  const shown = new WeakMap<X509Certificate, Shown>();
  const told = new SieveCache<Told>(TOLD_BYTES);

  const ofConnection = ({ certificate, verified }: NonNullable<CertifiedRequest['certificate']>): Found => {
    // OpenSSL verifies none that is shown outside of its times, whoever has signed it.
    if (!verified) return isGoodAt(timesOf(certificate), nowMs()) ? 'certificate_not_verified' : 'certificate_expired';
    let known = shown.get(certificate);
    if (known === undefined) {
      known = { found: merchantIn(namesIn(certificate, part), prefix), ...timesOf(certificate) };
      shown.set(certificate, known);
    }
    // A connection may live longer than what was shown when it began.
    return isGoodAt(known, nowMs()) ? known.found : 'certificate_expired';
  };

  const ofHeader = (name: CertificateHeader, value: string): Found => {
    const known = told.get(value);
    if (known !== undefined) return known.found;
    const names = forwardedNames(name, value, part);
    const found = names === undefined ? 'invalid_certificate' : merchantIn(names, prefix);
    told.set(value, { found, used: false, bytes: 2 * value.length + TOLD_ENTRY_BYTES });
    return found;
  };

  return (request, done) => {
    if (header === '' || !request.trusted) return done(request.certificate === null ? null : ofConnection(request.certificate));
    const values = request.receivedValues(header);
    if (values.length > 1) return done('duplicate_certificate');
    done(values.length === 0 ? null : ofHeader(header, values[0]!));
  };
}

/** Exactly one name may be the one: of two, another server might choose the other. */
function merchantIn(names: readonly string[], prefix: string): Found {
  const [merchantId, ...others] = names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  return merchantId === undefined || others.length > 0 || !isMerchantId(merchantId)
    ? 'certificate_without_merchant'
    : { merchantId, user: null };
}
