import { type CertificateWish, makeCertificate } from '../../../../test/support/certificates.js';
import { Callers } from './callers.js';
import { CertifiedCallers, type CertifiedCallersOptions } from './certified-callers.js';

const NOW_MS = Date.parse('2026-06-01T00:00:00Z');
const TIMES = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2027-01-01T00:00:00Z') };
const ENVOY = { commonNames: ['envoy'], uris: ['spiffe://shop/envoy'], dnsNames: ['envoy.shop'] };

function named(wish: CertificateWish, options: Partial<CertifiedCallersOptions> = {}, verified = true, nowMs = NOW_MS): unknown {
  const { x509: certificate } = makeCertificate({ ...TIMES, ...wish });
  const certified = new CertifiedCallers({ part: 'san-uri', names: [], nowMs: () => nowMs, ...options });
  try {
    return certified.named({ certificate, verified });
  } catch (error) {
    return (error as { code: string }).code;
  }
}

test.each([
  ['san-uri', 'spiffe://shop/envoy'],
  ['san-dns', 'envoy.shop'],
  ['cn', 'envoy'],
] as const)('by %s the caller is %s', (part, name) => {
  expect(named(ENVOY, { part })).toBe(name);
  expect(named(ENVOY, { part, names: ['another', name] })).toBe(name);
  expect(named(ENVOY, { part, names: ['another'] })).toBe('decision_api.certificate_not_listed');
});

test.each<[string, CertificateWish]>([
  ['no name', { dnsNames: ['envoy'] }],
  ['two names', { uris: ['spiffe://shop/envoy', 'spiffe://shop/other'] }],
  ['an empty name', { uris: [''] }],
])('a certificate with %s in that part names nobody', (_case, wish) => {
  expect(named(wish)).toBe('decision_api.certificate_name');
});

test('its times come before who signed it, and who signed it before its names', () => {
  expect(named(ENVOY, { names: ['another'] }, false)).toBe('decision_api.certificate_untrusted');
  expect(named(ENVOY, {}, false, TIMES.notAfter.getTime())).toBe('decision_api.certificate_expired');
  expect(named(ENVOY, {}, false, TIMES.notBefore.getTime() - 1)).toBe('decision_api.certificate_expired');
  expect(named({ dnsNames: ['x'] }, {}, true, TIMES.notAfter.getTime())).toBe('decision_api.certificate_expired');
  expect(named({ dnsNames: ['x'] }, {}, true, TIMES.notBefore.getTime() - 1)).toBe('decision_api.certificate_expired');
});

test('on a connection that goes on a certificate ends all the same', () => {
  let nowMs = NOW_MS;
  const certified = new CertifiedCallers({ part: 'cn', names: [], nowMs: () => nowMs });
  const shown = { certificate: makeCertificate({ ...TIMES, ...ENVOY }).x509, verified: true };
  expect(certified.named(shown)).toBe('envoy');
  nowMs = TIMES.notAfter.getTime();
  expect(() => certified.named(shown)).toThrow(expect.objectContaining({ code: 'decision_api.certificate_expired' }));
});

test('where certificates are asked for nobody without one is let in without a token, on this machine neither', () => {
  const certified = new CertifiedCallers({ part: 'cn', names: [] });
  const code = (callers: Callers) => {
    try {
      return callers.named('', '127.0.0.1', null);
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  expect(code(new Callers([], certified))).toBe('decision_api.certificate_missing');
  expect(code(new Callers([{ name: 'a', digest: Buffer.alloc(32) }], certified))).toBe('token.missing');
});
