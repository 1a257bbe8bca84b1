import { demandTls } from './tls-faults.js';

const NONE = {
  tlsCert: undefined,
  tlsKey: undefined,
  tlsClientCa: undefined,
  tlsClientCert: 'optional',
  identity: ['header'],
  clientCertHeader: '',
} as const;

it.each([
  ['no TLS', {}],
  ['a pair', { tlsCert: 'c', tlsKey: 'k' }],
  ['certificates that a proxy tells of', { identity: ['certificate'], clientCertHeader: 'client-cert' }],
  ['a pair and authorities of clients', { tlsCert: 'c', tlsKey: 'k', tlsClientCa: 'ca', tlsClientCert: 'required' }],
] as const)('%s is a configuration', (_case, config) => {
  expect(() => demandTls({ ...NONE, ...config })).not.toThrow();
});

it.each([
  ['GATEWAY_TLS_KEY: is not set', { tlsCert: 'c' }],
  ['GATEWAY_TLS_CERT: is not set', { tlsKey: 'k' }],
  ['GATEWAY_TLS_CERT: is not set, and GATEWAY_TLS_CLIENT_CA is', { tlsClientCa: 'ca' }],
  ['GATEWAY_TLS_CLIENT_CA: is not set', { tlsCert: 'c', tlsKey: 'k', tlsClientCert: 'required' }],
  ['GATEWAY_TLS_CLIENT_CA or CLIENT_CERT_HEADER', { tlsCert: 'c', tlsKey: 'k', identity: ['certificate', 'header'] }],
] as const)('a gateway says "%s", and does not start', (fault, config) => {
  expect(() => demandTls({ ...NONE, ...config })).toThrow(fault);
});
