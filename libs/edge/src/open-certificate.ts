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

/** Where the files of a pair lie. */
export interface CertificatePaths {
  readonly cert: string;
  readonly key: string;
  /** Undefined: clients are not asked for certificates. */
  readonly clientCa?: string | undefined;
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
  const { cert, key, clientCa } = files;
  const pair = {
    cert: textOf(`${prefix}_CERT`, cert),
    key: textOf(`${prefix}_KEY`, key),
    clientCa: clientCa === undefined ? undefined : textOf(`${prefix}_CLIENT_CA`, clientCa),
  };
  usableCertificate(prefix, { cert, key, clientCa }, pair);
  return pair;
}

/**
 * The first certificate of a pair with which TLS can be spoken.
 *
 * @param paths where its files lie
 * @throws CertificateError
 */
export function usableCertificate(prefix: string, paths: CertificatePaths, { cert, key, clientCa }: PairOfFiles): X509Certificate {
  const [certName, keyName, caName] = [`${prefix}_CERT`, `${prefix}_KEY`, `${prefix}_CLIENT_CA`] as const;
  const certificate = certificateIn(certName, paths.cert, cert);
  if (!certificate.checkPrivateKey(keyIn(keyName, paths.key, key)))
    throw new CertificateError(keyName, paths.key, `is not the key of the certificate in ${certName} ${paths.cert}`);
  // Of what is no certificate at all OpenSSL makes an empty list, which no client could be vouched for by.
  if (clientCa !== undefined) certificateIn(caName, paths.clientCa!, clientCa);
  try {
    createSecureContext({ cert, key, ...(clientCa !== undefined && { ca: clientCa }) });
  } catch (error) {
    throw new CertificateError(certName, paths.cert, `cannot be used: ${(error as Error).message}`);
  }
  return certificate;
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
