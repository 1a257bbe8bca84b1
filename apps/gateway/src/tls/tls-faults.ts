import { tlsFaults } from '#edge';
import { ConfigError, type Config } from '#platform';

type TlsConfig = Pick<Config<'gateway'>, 'tlsCert' | 'tlsKey' | 'tlsClientCa' | 'tlsClientCert' | 'identity' | 'clientCertHeader'>;

/**
 * Looks at what the variables of TLS cannot say one by one.
 *
 * @throws ConfigError naming what is missing
 */
export function demandTls({
  tlsCert: cert,
  tlsKey: key,
  tlsClientCa: clientCa,
  tlsClientCert,
  identity,
  clientCertHeader,
}: TlsConfig): void {
  const faults = tlsFaults('GATEWAY_TLS', { cert, key, clientCa, clientCertificate: tlsClientCert });
  if (identity.includes('certificate') && clientCa === undefined && clientCertHeader === '')
    faults.push('GATEWAY_TLS_CLIENT_CA or CLIENT_CERT_HEADER: neither is set, and IDENTITY has certificate');
  if (faults.length > 0) throw new ConfigError(faults);
}
