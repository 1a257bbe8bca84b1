import { demandTls } from './tls-settings.js';

const NONE = {
  decisionApiTlsCert: undefined,
  decisionApiTlsKey: undefined,
  decisionApiTlsClientCa: undefined,
  decisionApiTlsClientCert: 'optional',
  decisionApiTlsCallers: [] as string[],
} as const;
const PAIR = { decisionApiTlsCert: 'c', decisionApiTlsKey: 'k' };

test.each([
  ['no TLS', {}],
  ['a pair', PAIR],
  ['a pair and callers of an authority', { ...PAIR, decisionApiTlsClientCa: 'ca', decisionApiTlsCallers: ['envoy'] }],
] as const)('%s is a configuration', (_case, config) => {
  expect(() => demandTls({ ...NONE, ...config })).not.toThrow();
});

test.each([
  ['DECISION_API_TLS_KEY: is not set', { decisionApiTlsCert: 'c' }],
  ['DECISION_API_TLS_CERT: is not set', { decisionApiTlsKey: 'k' }],
  ['DECISION_API_TLS_CERT: is not set, and DECISION_API_TLS_CLIENT_CA is', { decisionApiTlsClientCa: 'ca' }],
  [
    'DECISION_API_TLS_CLIENT_CA: is not set, and DECISION_API_TLS_CLIENT_CERT is required',
    { ...PAIR, decisionApiTlsClientCert: 'required' },
  ],
  ['DECISION_API_TLS_CLIENT_CA: is not set, and DECISION_API_TLS_CALLERS is', { ...PAIR, decisionApiTlsCallers: ['envoy'] }],
] as const)('a decision API says "%s", and does not start', (fault, config) => {
  expect(() => demandTls({ ...NONE, ...config })).toThrow(fault);
});
