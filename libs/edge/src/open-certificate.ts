import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { EXIT_BAD_CONFIGURATION } from '#platform';
import type { PairOfFiles } from './tls-server.js';

/** What the variables of TLS say of files. */
export interface TlsFiles {
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly clientCa: string | undefined;
}

/** A file that TLS cannot be spoken with. The message names the variable and the file, and nothing of what is in it. */
export class CertificateError extends Error {
  constructor(variable: string, path: string, fault: string) {
    super(`${variable} ${path} ${fault}`);
    this.name = 'CertificateError';
  }
}

/**
 * Reads the files of a certificate; undefined if the configuration names none.
 *
 * @param prefix what the variables begin with, like GATEWAY_TLS
 * @throws CertificateError
 */
export function readCertificate(prefix: string, files: TlsFiles): PairOfFiles | undefined {
  if (files.cert === undefined || files.key === undefined) return undefined;
  const [certName, keyName, caName] = [`${prefix}_CERT`, `${prefix}_KEY`, `${prefix}_CLIENT_CA`] as const;
  const cert = textOf(certName, files.cert);
  const key = textOf(keyName, files.key);
  const certificate = certificateIn(certName, files.cert, cert);
  if (!certificate.checkPrivateKey(keyIn(keyName, files.key, key)))
    throw new CertificateError(keyName, files.key, `is not the key of the certificate in ${certName} ${files.cert}`);
  const clientCa = files.clientCa === undefined ? undefined : textOf(caName, files.clientCa);
  if (clientCa !== undefined) certificateIn(caName, files.clientCa!, clientCa);
  const pair = { cert, key, clientCa };
  try {
    createSecureContext({ cert, key, ...(clientCa !== undefined && { ca: clientCa }) });
  } catch (error) {
    throw new CertificateError(certName, files.cert, `cannot be used: ${(error as Error).message}`);
  }
  return pair;
}

/** The same, but if the files are not usable, prints why to stderr and exits with EXIT_BAD_CONFIGURATION. */
export function readCertificateOrExit(prefix: string, files: TlsFiles): PairOfFiles | undefined {
  try {
    return readCertificate(prefix, files);
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(EXIT_BAD_CONFIGURATION);
  }
}

function textOf(variable: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new CertificateError(variable, path, `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
  }
}

function certificateIn(variable: string, path: string, text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw new CertificateError(variable, path, 'has no certificate in PEM');
  }
}

function keyIn(variable: string, path: string, text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch {
    throw new CertificateError(variable, path, 'has no private key in PEM, or one that is encrypted');
  }
}
