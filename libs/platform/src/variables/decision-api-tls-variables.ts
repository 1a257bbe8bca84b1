import { CERTIFICATE_PARTS } from './identity-variables.js';
import { CLIENT_CERTIFICATES, optionalPath } from './tls-variables.js';
import { expected, oneOf, type Variable } from './variable.js';

const MOST_CALLERS = 100;
const NAME = /^[\x21-\x2b\x2d-\x7e]{1,255}$/;

/** @throws ExpectationError */
function certificateNames(text: string): readonly string[] {
  if (text === '') return [];
  const names = text.split(',').map((name) => name.trim());
  return names.length <= MOST_CALLERS && names.every((name) => NAME.test(name))
    ? [...new Set(names)]
    : expected(`at most ${MOST_CALLERS} names as they stand in certificates, of at most 255 visible characters, separated by commas`);
}

/** How a decision API speaks with its callers: TLS, and their certificates. Both of its ports have the same. */
export const DECISION_API_TLS_VARIABLES = {
  decisionApiTlsCert: {
    name: 'DECISION_API_TLS_CERT',
    apps: ['decision-api'],
    default: '',
    meaning:
      'file with the certificate that the decision API shows to callers, and those that lead to its authority, as PEM; empty: no TLS',
    parse: optionalPath,
  },
  decisionApiTlsKey: {
    name: 'DECISION_API_TLS_KEY',
    apps: ['decision-api'],
    default: '',
    meaning: 'file with the private key of that certificate, as PEM',
    parse: optionalPath,
  },
  decisionApiTlsClientCa: {
    name: 'DECISION_API_TLS_CLIENT_CA',
    apps: ['decision-api'],
    default: '',
    meaning: 'file with the authorities that sign certificates of callers, as PEM; empty: callers are not asked for one',
    parse: optionalPath,
  },
  decisionApiTlsClientCert: {
    name: 'DECISION_API_TLS_CLIENT_CERT',
    apps: ['decision-api'],
    default: 'optional',
    meaning: 'whether a caller without a certificate of DECISION_API_TLS_CLIENT_CA gets a connection: optional or required',
    parse: oneOf(CLIENT_CERTIFICATES),
  },
  decisionApiTlsCallerName: {
    name: 'DECISION_API_TLS_CALLER_NAME',
    apps: ['decision-api'],
    default: 'san-uri',
    meaning: 'part of its certificate that names a caller: san-uri, san-dns or cn',
    parse: oneOf(CERTIFICATE_PARTS),
  },
  decisionApiTlsCallers: {
    name: 'DECISION_API_TLS_CALLERS',
    apps: ['decision-api'],
    default: '',
    meaning: 'names in certificates whose callers may ask, separated by commas; empty: each that DECISION_API_TLS_CLIENT_CA has signed',
    parse: certificateNames,
  },
} as const satisfies Record<string, Variable<unknown>>;
