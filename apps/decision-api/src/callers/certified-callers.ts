import type { X509Certificate } from 'node:crypto';
import { type CertificatePart, type CertificateTimes, isGoodAt, namesIn, type ShownCertificate, timesOf } from '#edge';
import { ProblemError, unauthorized } from '#platform';

export interface CertifiedCallersOptions {
  /** Which part of a certificate names its caller. */
  readonly part: CertificatePart;
  /** The names that may ask; none: each that an authority has signed. */
  readonly names: readonly string[];
  readonly nowMs?: () => number;
}

interface Known extends CertificateTimes {
  /** Undefined: there is not exactly one name in that part. */
  readonly caller: string | undefined;
}

/** Who asks by a certificate: its one name in the configured part. */
export class CertifiedCallers {
  private readonly known = new WeakMap<X509Certificate, Known>();
  private readonly names: ReadonlySet<string>;

  constructor(private readonly options: CertifiedCallersOptions) {
    this.names = new Set(options.names);
  }

  /**
   * The name of the caller. A wrong certificate is refused, and nothing else is looked at: nobody becomes somebody else by showing a worse one.
   *
   * @throws ProblemError 401, or 403 for a name that is not on the list
   */
  named({ certificate, verified }: ShownCertificate): string {
    const { nowMs = Date.now } = this.options;
    // OpenSSL verifies none that is shown outside of its times, whoever has signed it.
    if (!verified) throw isGoodAt(timesOf(certificate), nowMs()) ? untrusted() : expired();
    let known = this.known.get(certificate);
    if (known === undefined) this.known.set(certificate, (known = this.read(certificate)));
    // With each call: a connection may live longer than what was shown when it began.
    if (!isGoodAt(known, nowMs())) throw expired();
    const { caller } = known;
    if (caller === undefined)
      throw unauthorized('decision_api.certificate_name', `this certificate has not exactly one name in its ${this.options.part}`);
    if (this.names.size > 0 && !this.names.has(caller)) throw notListed();
    return caller;
  }

  private read(certificate: X509Certificate): Known {
    const names = namesIn(certificate, this.options.part);
    const isName = names.length === 1 && names[0] !== '';
    return { caller: isName ? names[0] : undefined, ...timesOf(certificate) };
  }
}

function untrusted(): ProblemError {
  return unauthorized('decision_api.certificate_untrusted', 'no authority of DECISION_API_TLS_CLIENT_CA has signed this certificate');
}

function expired(): ProblemError {
  return unauthorized('decision_api.certificate_expired', 'this certificate has expired, or is not valid yet');
}

function notListed(): ProblemError {
  return new ProblemError({
    status: 403,
    code: 'decision_api.certificate_not_listed',
    detail: 'the name in this certificate is not one of DECISION_API_TLS_CALLERS',
  });
}
