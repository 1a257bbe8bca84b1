import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { type Config, EXIT_BAD_CONFIGURATION } from '#platform';
import type { PairOfFiles } from '../proxy/index.js';

type TlsPaths = Pick<Config<'gateway'>, 'tlsCert' | 'tlsKey' | 'tlsClientCa'>;

/** A file that TLS cannot be spoken with. The message names the variable and the file, and nothing of what is in it. */
export class CertificateError extends Error {
  constructor(variable: string, path: string, fault: string) {
    super(`${variable} ${path} ${fault}`);
    this.name = 'CertificateError';
  }
}

/**
 * Reads the files of the gateway's certificate; undefined if the configuration names none.
 *
 * @throws CertificateError
 */
export function readCertificate({ tlsCert, tlsKey, tlsClientCa }: TlsPaths): PairOfFiles | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const cert = textOf('GATEWAY_TLS_CERT', tlsCert);
  const key = textOf('GATEWAY_TLS_KEY', tlsKey);
  const certificate = certificateIn('GATEWAY_TLS_CERT', tlsCert, cert);
  if (!certificate.checkPrivateKey(keyIn(tlsKey, key)))
    throw new CertificateError('GATEWAY_TLS_KEY', tlsKey, `is not the key of the certificate in GATEWAY_TLS_CERT ${tlsCert}`);
  const clientCa = tlsClientCa === undefined ? undefined : textOf('GATEWAY_TLS_CLIENT_CA', tlsClientCa);
  if (clientCa !== undefined) certificateIn('GATEWAY_TLS_CLIENT_CA', tlsClientCa!, clientCa);
  const pair = { cert, key, clientCa };
  try {
    createSecureContext({ cert, key, ...(clientCa !== undefined && { ca: clientCa }) });
  } catch (error) {
    throw new CertificateError('GATEWAY_TLS_CERT', tlsCert, `cannot be used: ${(error as Error).message}`);
  }
  return pair;
}

/** The same, but if the files are not usable, prints why to stderr and exits with EXIT_BAD_CONFIGURATION. */
export function readCertificateOrExit(config: TlsPaths): PairOfFiles | undefined {
  try {
    return readCertificate(config);
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

function keyIn(path: string, text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch {
    throw new CertificateError('GATEWAY_TLS_KEY', path, 'has no private key in PEM, or one that is encrypted');
  }
}
