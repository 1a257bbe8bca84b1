import type { TlsFiles } from './open-certificate.js';

export interface TlsWish extends TlsFiles {
  readonly clientCertificate: 'optional' | 'required';
}

/**
 * What the variables of TLS cannot say one by one. A server that was meant to speak TLS must not speak plain text because of a variable that was forgotten.
 *
 * @param prefix what the variables begin with, like GATEWAY_TLS
 * @returns a line for each that is missing
 */
export function tlsFaults(prefix: string, { cert, key, clientCa, clientCertificate }: TlsWish): string[] {
  const faults: string[] = [];
  if (cert === undefined && key !== undefined) faults.push(`${prefix}_CERT: is not set, and ${prefix}_KEY is`);
  if (key === undefined && cert !== undefined) faults.push(`${prefix}_KEY: is not set, and ${prefix}_CERT is`);
  if (clientCa !== undefined && cert === undefined) faults.push(`${prefix}_CERT: is not set, and ${prefix}_CLIENT_CA is`);
  if (clientCertificate === 'required' && clientCa === undefined)
    faults.push(`${prefix}_CLIENT_CA: is not set, and ${prefix}_CLIENT_CERT is required`);
  return faults;
}
