import { type CertificateWish, makeCertificate } from '../../../../test/support/certificates.js';
import type { Named } from './caller.js';
import { type CertificateReaderOptions, createCertificateReader } from './certificate.js';

const NOW_MS = Date.parse('2026-06-01T00:00:00Z');
const TIMES = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2027-01-01T00:00:00Z') };

const certificateWith = (wish: CertificateWish) => makeCertificate({ ...TIMES, ...wish }).x509;
const ACME = certificateWith({ commonNames: ['acme'], uris: ['spiffe://x/acme'], dnsNames: ['acme.example'] });

function find(
  options: Partial<CertificateReaderOptions>,
  {
    shown,
    verified = true,
    trusted = false,
    headers = [],
  }: { shown?: typeof ACME; verified?: boolean; trusted?: boolean; headers?: string[] },
): Named {
  const read = createCertificateReader({ part: 'cn', prefix: '', header: '', nowMs: () => NOW_MS, ...options });
  let found: Named | undefined;
  const certificate = shown === undefined ? null : { certificate: shown, verified };
  const receivedValues = (name: string) => (name === options.header ? headers : []);
  read({ trusted, certificate, receivedValues }, (named) => (found = named));
  if (found === undefined) throw new Error('it did not answer at once');
  return found;
}

const caller = (merchantId: string) => ({ merchantId, user: null });

describe('a certificate on the connection', () => {
  it.each<[string, Partial<CertificateReaderOptions>, string]>([
    ['its common name', { part: 'cn' }, 'acme'],
    ['its URI', { part: 'san-uri' }, 'spiffe://x/acme'],
    ['its URI behind a prefix', { part: 'san-uri', prefix: 'spiffe://x/' }, 'acme'],
    ['its name in the DNS', { part: 'san-dns' }, 'acme.example'],
  ])('is its merchant, by %s', (_case, options, merchantId) => {
    expect(find(options, { shown: ACME })).toEqual(caller(merchantId));
  });

  it.each<[string, Partial<CertificateReaderOptions>, CertificateWish]>([
    ['no name of the kind', { part: 'san-uri' }, { dnsNames: ['acme'] }],
    ['two common names', { part: 'cn' }, { commonNames: ['acme', 'other'] }],
    ['two URIs', { part: 'san-uri' }, { uris: ['a:1', 'a:2'] }],
    ['two URIs behind the prefix', { part: 'san-uri', prefix: 'a:' }, { uris: ['a:1', 'a:2', 'b:3'] }],
    ['a URI that does not begin so', { part: 'san-uri', prefix: 'spiffe://x/' }, { uris: ['spiffe://y/acme'] }],
    ['nothing behind the prefix', { part: 'san-uri', prefix: 'a:' }, { uris: ['a:'] }],
    ['a name that no merchant has', { part: 'cn' }, { commonNames: ['a\tb'] }],
  ])('with %s names no merchant', (_case, options, wish) => {
    expect(find(options, { shown: certificateWith(wish) })).toBe('certificate_without_merchant');
  });

  it('cannot smuggle a second name into one', () => {
    const shown = certificateWith({ dnsNames: ['a, URI:spiffe://x/acme'], uris: ['spiffe://x/b", URI:"spiffe://x/acme'] });
    expect(find({ part: 'san-uri', prefix: 'spiffe://x/acme' }, { shown })).toBe('certificate_without_merchant');
    expect(find({ part: 'san-dns' }, { shown })).toEqual(caller('a, URI:spiffe://x/acme'));
  });

  it('is wrong if no authority has signed it, and not skipped', () => {
    expect(find({}, { shown: ACME, verified: false })).toBe('certificate_not_verified');
  });

  it.each([
    ['before it begins', Date.parse('2025-12-31T23:59:59Z')],
    ['when it has ended, on a connection that goes on', Date.parse('2027-01-01T00:00:00Z')],
  ])('is wrong %s', (_case, nowMs) => {
    for (const verified of [true, false])
      expect([verified, find({ nowMs: () => nowMs }, { shown: ACME, verified })]).toEqual([verified, 'certificate_expired']);
  });

  it('that is not there is none', () => {
    expect(find({}, {})).toBeNull();
  });
});

const asBytes = (certificate: typeof ACME) => `:${certificate.raw.toString('base64')}:`;

describe('a certificate of which a trusted proxy tells', () => {
  it.each<[string, Partial<CertificateReaderOptions>, string, Named]>([
    ['Client-Cert', { header: 'client-cert' }, asBytes(ACME), caller('acme')],
    ['Client-Cert, URI', { header: 'client-cert', part: 'san-uri', prefix: 'spiffe://x/' }, asBytes(ACME), caller('acme')],
    ['Client-Cert without colons', { header: 'client-cert' }, ACME.raw.toString('base64'), 'invalid_certificate'],
    ['Client-Cert that is no certificate', { header: 'client-cert' }, ':AAAA:', 'invalid_certificate'],
    ['Client-Cert twice in one', { header: 'client-cert' }, `${asBytes(ACME)}, ${asBytes(ACME)}`, 'invalid_certificate'],
    ['an empty Client-Cert', { header: 'client-cert' }, '', 'invalid_certificate'],
    [
      'Envoy, URI',
      { header: 'x-forwarded-client-cert', part: 'san-uri' },
      'By=spiffe://g;Hash=ab;URI=spiffe://x/acme',
      caller('spiffe://x/acme'),
    ],
    ['Envoy, DNS', { header: 'x-forwarded-client-cert', part: 'san-dns' }, 'Hash=ab;DNS=acme.example', caller('acme.example')],
    [
      'Envoy, two DNS',
      { header: 'x-forwarded-client-cert', part: 'san-dns' },
      'DNS=a.example;DNS=b.example',
      'certificate_without_merchant',
    ],
    ['Envoy, subject', { header: 'x-forwarded-client-cert' }, 'Hash=ab;Subject="CN=acme,O=A\\"B";URI=', caller('acme')],
    ['Envoy, a comma in the name', { header: 'x-forwarded-client-cert' }, 'Subject="CN=a\\\\,CN=b,O=x"', caller('a,CN=b')],
    ['Envoy, no name of the kind', { header: 'x-forwarded-client-cert' }, 'Hash=ab', 'certificate_without_merchant'],
    ['Envoy, two elements', { header: 'x-forwarded-client-cert', part: 'san-uri' }, 'URI=a:1,URI=a:2', 'invalid_certificate'],
    ['Envoy, a quote that is not closed', { header: 'x-forwarded-client-cert' }, 'Subject="CN=acme', 'invalid_certificate'],
    ['Envoy, nonsense', { header: 'x-forwarded-client-cert' }, 'acme', 'invalid_certificate'],
    [
      'Envoy, a name beyond ASCII',
      { header: 'x-forwarded-client-cert' },
      Buffer.from('Subject="CN=Käse"').toString('latin1'),
      caller('Käse'),
    ],
    ['Envoy, bytes that are no text', { header: 'x-forwarded-client-cert' }, 'Subject="CN=K\xe4se"', 'invalid_certificate'],
  ])('%s', (_case, options, value, named) => {
    expect(find(options, { trusted: true, headers: [value] })).toEqual(named);
  });

  it('is wrong if it is told twice', () => {
    expect(find({ header: 'client-cert' }, { trusted: true, headers: [asBytes(ACME), asBytes(ACME)] })).toBe('duplicate_certificate');
  });

  it('counts from nobody else: there only what is on the connection does', () => {
    const options = { header: 'client-cert' } as const;
    expect(find(options, { trusted: false, headers: [asBytes(ACME)] })).toBeNull();
    const shown = certificateWith({ commonNames: ['shop'] });
    expect(find(options, { trusted: false, headers: [asBytes(ACME)], shown })).toEqual(caller('shop'));
  });

  it('stands alone: what the proxy shows on its own connection is not its client', () => {
    const shown = certificateWith({ commonNames: ['proxy'] });
    expect(find({ header: 'client-cert' }, { trusted: true, headers: [], shown })).toBeNull();
    expect(find({ header: 'client-cert' }, { trusted: true, headers: [asBytes(ACME)], shown })).toEqual(caller('acme'));
  });

  it('is read once, and says the same again', () => {
    const read = createCertificateReader({ part: 'cn', prefix: '', header: 'client-cert', nowMs: () => NOW_MS });
    const named: Named[] = [];
    const request = { trusted: true, certificate: null, receivedValues: () => [asBytes(ACME)] };
    for (let i = 0; i < 3; i++) read(request, (each) => named.push(each));
    expect(named).toEqual([caller('acme'), caller('acme'), caller('acme')]);
  });
});
