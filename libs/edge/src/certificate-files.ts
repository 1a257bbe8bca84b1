import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { counterBy, gaugeBy } from '#metrics';
import type { Logger } from '#platform';
import type { Registry } from 'prom-client';
import { type CertificatePaths, usableCertificate } from './open-certificate.js';
import type { PairOfFiles } from './tls-server.js';

export interface CertificateFilesOptions {
  /** What the variables that name them begin with, like GATEWAY_TLS. */
  readonly prefix: string;
  readonly paths: CertificatePaths;
  /** What has been read of them already; they are read unless it is given. */
  readonly pair?: PairOfFiles | undefined;
  readonly logger: Pick<Logger, 'info' | 'error'>;
  /** Given what is read when the files have changed. */
  readonly onChanged: (pair: PairOfFiles) => void;
}

/** How often the files are read. What replaces them, be it a person or a mounted secret, does not have to tell us. */
const LOOK_EVERY_MS = 2_000;

/** There without TLS too: what is watched is there. */
export function registerCertificate(registry: Registry, files: CertificateFiles | undefined): void {
  gaugeBy(
    registry,
    'tollgate_tls_certificate_expiry_timestamp_seconds',
    'When the certificate that clients are shown ends, in seconds since 1970.',
    // A series that is only there with TLS: 0 would be one that ended long ago.
    ['certificate'],
    () => (files === undefined ? [] : [[['server'], files.expiresAtMs / 1000]]),
  );
  counterBy(registry, 'tollgate_tls_certificate_loads_total', 'Certificates that were read from files, by outcome.', ['outcome'], () =>
    Object.entries(files?.outcomes ?? { loaded: 0, failed: 0 }).map(([outcome, count]) => [[outcome], count] as const),
  );
}

const UNREADABLE = 'unreadable';
const NOTHING_BAD = { fingerprint: '', reason: '', isSaid: false };

/**
 * The files of the certificate that clients are shown, read again and again. What cannot be used, be it a key that does not fit or half of a change, is said once, and the
 * pair of before stays in use.
 */
export class CertificateFiles {
  /** What is in use. */
  pair: PairOfFiles;

  /** How often a pair was read that could be used, and one that could not. */
  readonly outcomes = { loaded: 1, failed: 0 };
  expiresAtMs: number;
  private timer: NodeJS.Timeout | undefined;
  private fingerprint: string;
  /** What was read at the last look and could not be used, and whether that has been said. */
  private bad: { readonly fingerprint: string; readonly reason: string; isSaid: boolean } = NOTHING_BAD;

  /** @throws Error if they cannot be used, saying why */
  constructor(private readonly options: CertificateFilesOptions) {
    const { cert, key, clientCa } = options.paths;
    this.pair = options.pair ?? {
      cert: readFileSync(cert, 'utf8'),
      key: readFileSync(key, 'utf8'),
      clientCa: clientCa === undefined ? undefined : readFileSync(clientCa, 'utf8'),
    };
    this.expiresAtMs = this.endOf(this.pair);
    this.fingerprint = fingerprintOf(this.pair);
  }

  open(): void {
    this.timer ??= setInterval(() => void this.look(), LOOK_EVERY_MS).unref();
  }

  close(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Throws, with the reason, while the files hold what cannot be used. The pair of before goes on. */
  readonly assertUsable = (): void => {
    if (this.bad.isSaid) throw new Error(`${this.bad.reason}; the certificate of before stays in use`);
  };

  /** Reads the files, and uses what has changed. Never rejects. */
  async look(): Promise<void> {
    let fingerprint = UNREADABLE;
    try {
      const pair = await this.read();
      fingerprint = fingerprintOf(pair);
      if (fingerprint !== this.fingerprint) this.use(pair, fingerprint);
      this.bad = NOTHING_BAD;
    } catch (error) {
      this.cannotUse((error as Error).message, fingerprint);
    }
  }

  private async read(): Promise<PairOfFiles> {
    const { cert, key, clientCa } = this.options.paths;
    const read = (path: string): Promise<string> => readFile(path, 'utf8');
    const [certText, keyText, clientCaText] = await Promise.all([
      read(cert),
      read(key),
      clientCa === undefined ? undefined : read(clientCa),
    ]);
    return { cert: certText, key: keyText, clientCa: clientCaText };
  }

  private use(pair: PairOfFiles, fingerprint: string): void {
    const expiresAtMs = this.endOf(pair);
    this.options.onChanged(pair);
    this.pair = pair;
    this.expiresAtMs = expiresAtMs;
    this.fingerprint = fingerprint;
    this.outcomes.loaded++;
    this.options.logger.info({ expiresAt: new Date(expiresAtMs).toISOString() }, 'the certificate has changed and is in use');
  }

  /** When the first certificate of the chain ends. @throws Error if TLS cannot be spoken with these */
  private endOf(pair: PairOfFiles): number {
    const { paths, prefix } = this.options;
    return Date.parse(usableCertificate(prefix, paths, pair).validTo);
  }

  /** Two files are not replaced in one instant: only what is found twice is a fault. */
  private cannotUse(reason: string, fingerprint: string): void {
    const { bad } = this;
    if (bad.fingerprint !== fingerprint) {
      this.bad = { fingerprint, reason, isSaid: false };
      return;
    }
    if (bad.isSaid) return;
    bad.isSaid = true;
    this.outcomes.failed++;
    this.options.logger.error({ reason }, 'the certificate has changed and cannot be used: the one of before stays in use');
  }
}

function fingerprintOf({ cert, key, clientCa = '' }: PairOfFiles): string {
  return createHash('sha256')
    .update(JSON.stringify([cert, key, clientCa]))
    .digest('base64');
}
