import { ConfigError, type Config } from '#platform';

type TlsConfig = Pick<Config<'gateway'>, 'tlsCert' | 'tlsKey' | 'tlsClientCa' | 'tlsClientCert' | 'identity' | 'clientCertHeader'>;

/**
 * What the variables of TLS cannot say one by one. A gateway that was meant to speak TLS must not speak plain text because of a variable that was forgotten.
 *
 * @throws ConfigError naming what is missing
 */
export function demandTlsTogether({ tlsCert, tlsKey, tlsClientCa, tlsClientCert, identity, clientCertHeader }: TlsConfig): void {
  const faults: string[] = [];
  if (tlsCert === undefined && tlsKey !== undefined) faults.push('GATEWAY_TLS_CERT: is not set, and GATEWAY_TLS_KEY is');
  if (tlsKey === undefined && tlsCert !== undefined) faults.push('GATEWAY_TLS_KEY: is not set, and GATEWAY_TLS_CERT is');
  if (tlsClientCa !== undefined && tlsCert === undefined) faults.push('GATEWAY_TLS_CERT: is not set, and GATEWAY_TLS_CLIENT_CA is');
  if (tlsClientCert === 'required' && tlsClientCa === undefined)
    faults.push('GATEWAY_TLS_CLIENT_CA: is not set, and GATEWAY_TLS_CLIENT_CERT is required');
  if (identity.includes('certificate') && tlsClientCa === undefined && clientCertHeader === '')
    faults.push('GATEWAY_TLS_CLIENT_CA or CLIENT_CERT_HEADER: neither is set, and IDENTITY has certificate');
  if (faults.length > 0) throw new ConfigError(faults);
}
