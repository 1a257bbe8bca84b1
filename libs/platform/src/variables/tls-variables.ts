import { expected, oneOf, type Variable, wholeNumber } from './variable.js';

/** Whether a client without a certificate gets a connection. */
export const CLIENT_CERTIFICATES = ['optional', 'required'] as const;

/** A file of this machine. Only its form is checked here; what is in it is read when the app starts. */
export function optionalPath(text: string): string | undefined {
  if (text === '') return undefined;
  return text.length <= 4096 && !text.includes('\0') ? text : expected('the path of a file');
}

/** How a gateway speaks with clients: TLS, HTTP/2, and their certificates. */
export const TLS_VARIABLES = {
  tlsCert: {
    name: 'GATEWAY_TLS_CERT',
    apps: ['gateway'],
    default: '',
    meaning: 'file with the certificate that the gateway shows to clients, and those that lead to its authority, as PEM; empty: no TLS',
    parse: optionalPath,
  },
  tlsKey: {
    name: 'GATEWAY_TLS_KEY',
    apps: ['gateway'],
    default: '',
    meaning: 'file with the private key of that certificate, as PEM',
    parse: optionalPath,
  },
  tlsClientCa: {
    name: 'GATEWAY_TLS_CLIENT_CA',
    apps: ['gateway'],
    default: '',
    meaning: 'file with the authorities that sign certificates of clients, as PEM; empty: clients are not asked for one',
    parse: optionalPath,
  },
  tlsClientCert: {
    name: 'GATEWAY_TLS_CLIENT_CERT',
    apps: ['gateway'],
    default: 'optional',
    meaning: 'whether a client without a certificate of GATEWAY_TLS_CLIENT_CA gets a connection: optional or required',
    parse: oneOf(CLIENT_CERTIFICATES),
  },
  http2: {
    name: 'GATEWAY_HTTP2',
    apps: ['gateway'],
    default: 'true',
    meaning: 'whether clients are offered HTTP/2 where the gateway speaks TLS: true or false',
    parse: (text: string): boolean => oneOf(['true', 'false'])(text) === 'true',
  },
  http2MaxStreams: {
    name: 'GATEWAY_HTTP2_MAX_STREAMS',
    apps: ['gateway'],
    default: '100',
    meaning: 'maximum of requests that a connection of HTTP/2 has under way',
    parse: wholeNumber(1, 10_000, ' streams'),
  },
} as const satisfies Record<string, Variable<unknown>>;
