import { CertificateFiles, type PairOfFiles } from '#edge';
import { counter } from '#metrics';
import type { Config, Logger } from '#platform';
import type { Registry } from 'prom-client';
import { CertifiedCallers } from '../callers/certified-callers.js';
import { TlsDoor } from './tls-door.js';
import { tlsFiles } from './tls-settings.js';

/** Of all connections, those of one address on which TLS is not spoken yet. */
const HANDSHAKES_SHARE = 0.1;
const LEAST_HANDSHAKES = 16;

/** How callers speak TLS with both ports, and which files that is by. */
export interface CallerTls {
  readonly door: TlsDoor;
  readonly files: CertificateFiles;
  /** Undefined: callers are not asked for certificates. */
  readonly certified: CertifiedCallers | undefined;
}

/** @param pair what is in the files; they are read unless it is given. Undefined if the configuration names none */
export function createCallerTls(
  config: Config<'decision-api'>,
  logger: Pick<Logger, 'info' | 'warn' | 'error'>,
  pair?: PairOfFiles,
): CallerTls | undefined {
  const { cert, key, clientCa } = tlsFiles(config);
  if (cert === undefined || key === undefined) return undefined;
  const onChanged = (changed: PairOfFiles): void => door.renew(changed);
  const files = new CertificateFiles({ prefix: 'DECISION_API_TLS', paths: { cert, key, clientCa }, pair, logger, onChanged });
  const door = new TlsDoor({
    pair: files.pair,
    clientCertificate: config.decisionApiTlsClientCert,
    handshakeTimeoutMs: config.clientHeadersTimeoutMs,
    mostOfPeer: Math.max(LEAST_HANDSHAKES, Math.floor(config.maxConnections * HANDSHAKES_SHARE)),
    logger,
  });
  const { decisionApiTlsCallerName: part, decisionApiTlsCallers: names } = config;
  return { door, files, certified: clientCa === undefined ? undefined : new CertifiedCallers({ part, names }) };
}

/** There without TLS too: what is watched is there. */
export function registerHandshakes(registry: Registry, tls: CallerTls | undefined): void {
  const failed = (): number => tls?.door.handshakes.failed ?? 0;
  counter(registry, 'tollgate_tls_handshakes_failed_total', 'Connections that ended before TLS was spoken.', failed);
}
