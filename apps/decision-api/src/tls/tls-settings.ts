import { tlsFaults, type TlsFiles } from '#edge';
import { type Config, ConfigError } from '#platform';

export const TLS_PREFIX = 'DECISION_API_TLS';

/** Where the certificate lies that callers are shown, and who vouches for them. */
export function tlsFiles(
  config: Pick<Config<'decision-api'>, 'decisionApiTlsCert' | 'decisionApiTlsKey' | 'decisionApiTlsClientCa'>,
): TlsFiles {
  return { cert: config.decisionApiTlsCert, key: config.decisionApiTlsKey, clientCa: config.decisionApiTlsClientCa };
}

type TlsConfig = Parameters<typeof tlsFiles>[0] & Pick<Config<'decision-api'>, 'decisionApiTlsClientCert' | 'decisionApiTlsCallers'>;

/**
 * Looks at what the variables of TLS cannot say one by one.
 *
 * @throws ConfigError naming what is missing
 */
export function demandTls(config: TlsConfig): void {
  const files = tlsFiles(config);
  const faults = tlsFaults(TLS_PREFIX, { ...files, clientCertificate: config.decisionApiTlsClientCert });
  if (config.decisionApiTlsCallers.length > 0 && files.clientCa === undefined)
    faults.push(`${TLS_PREFIX}_CLIENT_CA: is not set, and ${TLS_PREFIX}_CALLERS is`);
  if (faults.length > 0) throw new ConfigError(faults);
}
