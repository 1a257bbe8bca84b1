import { inspectHead } from '../proxy/messages/request-hygiene.js';
import { canonicalAddress } from '#addresses';
import { createIdentifier, createTrust, type Identity } from '#edge';

const trusts = createTrust(['127.0.0.1/32', '::1', '10.0.0.0/8', '2001:db8:1::/48']);
const identify = createIdentifier({ trusts });

/** As a connection from a peer and the look at its headers prepare it. */
const from = (peer: string, ...rawHeaders: string[]): Identity =>
  identify({ peer: canonicalAddress(peer), trusted: trusts(peer), head: inspectHead('/', '1.0', rawHeaders, '') });
/** A header value as node hands it out: each byte a character. */
const onTheWire = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

describe('the merchant', () => {
  it.each([
    ['a trusted peer says who it is', ['X-Merchant-Id', 'acme'], { merchantId: 'acme' }],
    ['the name is compared without case', ['x-MERCHANT-id', 'acme'], { merchantId: 'acme' }],
    ['any script', ['X-Merchant-Id', onTheWire('Käse 🧀 : {x} "q"')], { merchantId: 'Käse 🧀 : {x} "q"' }],
    ['nobody says', ['Accept', '*/*'], { problem: 'no_identity' }],
    ['said twice', ['X-Merchant-Id', 'a', 'x-merchant-id', 'b'], { problem: 'duplicate_identity' }],
    ['said twice the same', ['X-Merchant-Id', 'a', 'X-Merchant-Id', 'a'], { problem: 'duplicate_identity' }],
    ['blank', ['X-Merchant-Id', ''], { problem: 'invalid_identity' }],
    ['too long', ['X-Merchant-Id', 'x'.repeat(129)], { problem: 'invalid_identity' }],
    ['a tab inside', ['X-Merchant-Id', 'a\tb'], { problem: 'invalid_identity' }],
    ['not UTF-8', ['X-Merchant-Id', 'caf\xe9'], { problem: 'invalid_identity' }],
    ['overlong UTF-8', ['X-Merchant-Id', '\xc0\xaf'], { problem: 'invalid_identity' }],
    ['another header of the same length', ['X-Merchant-No', 'acme'], { problem: 'no_identity' }],
  ])('%s', (_case, rawHeaders, expected) => {
    expect(from('127.0.0.1', ...rawHeaders)).toEqual({ ...expected, ip: '127.0.0.1' });
  });

  it('is not believed from an untrusted peer', () => {
    expect(from('192.0.2.7', 'X-Merchant-Id', 'acme')).toEqual({ problem: 'untrusted_peer', ip: '192.0.2.7' });
    expect(from('192.0.2.7')).toEqual({ problem: 'no_identity', ip: '192.0.2.7' });
    expect(from('', 'X-Merchant-Id', 'acme')).toEqual({ problem: 'untrusted_peer', ip: '' });
  });
});

describe('the user', () => {
  const MERCHANT = ['X-Merchant-Id', 'acme'];
  it.each([
    ['a trusted peer says who it is', [...MERCHANT, 'X-User-Id', 'ann'], { merchantId: 'acme', user: 'ann' }],
    ['any script', ['x-user-id', onTheWire('Zoë'), ...MERCHANT], { merchantId: 'acme', user: 'Zoë' }],
    ['nobody says', MERCHANT, { merchantId: 'acme' }],
    ['blank is none', [...MERCHANT, 'X-User-Id', ''], { merchantId: 'acme' }],
    ['said twice', [...MERCHANT, 'X-User-Id', 'ann', 'x-user-id', 'bob'], { problem: 'duplicate_user' }],
    ['said twice, once blank', [...MERCHANT, 'X-User-Id', 'ann', 'X-User-Id', ''], { problem: 'duplicate_user' }],
    ['too long', [...MERCHANT, 'X-User-Id', 'x'.repeat(129)], { problem: 'invalid_user' }],
    ['a tab inside', [...MERCHANT, 'X-User-Id', 'a\tb'], { problem: 'invalid_user' }],
    ['not UTF-8', [...MERCHANT, 'X-User-Id', 'caf\xe9'], { problem: 'invalid_user' }],
    ['without a merchant', ['X-User-Id', 'ann'], { problem: 'no_identity' }],
  ])('%s', (_case, rawHeaders, expected) => {
    expect(from('127.0.0.1', ...rawHeaders)).toEqual({ ...expected, ip: '127.0.0.1' });
  });

  it('is not believed from an untrusted peer', () => {
    expect(from('192.0.2.7', ...MERCHANT, 'X-User-Id', 'ann')).toEqual({ problem: 'untrusted_peer', ip: '192.0.2.7' });
  });

  it('is the credential’s where there is one, whoever else is named', () => {
    const head = inspectHead('/', '1.0', ['X-User-Id', 'ann', 'X-User-Id', 'bob'], '');
    const caller = { merchantId: 'keyed', user: null };
    expect(identify({ peer: '127.0.0.1', trusted: true, head, caller })).toEqual({ merchantId: 'keyed', ip: '127.0.0.1' });
  });
});

describe('the client address', () => {
  it.each([
    ['the peer itself', '127.0.0.1', [], '127.0.0.1'],
    ['an untrusted peer, whatever it says', '192.0.2.7', ['198.51.100.1'], '192.0.2.7'],
    ['one proxy', '10.0.0.1', ['192.0.2.7'], '192.0.2.7'],
    ['two proxies', '10.0.0.1', ['192.0.2.7, 10.9.9.9'], '192.0.2.7'],
    ['in two headers', '10.0.0.1', ['192.0.2.7', '10.9.9.9'], '192.0.2.7'],
    ['invented entries on the left', '10.0.0.1', ['127.0.0.1, 1.1.1.1, 192.0.2.7'], '192.0.2.7'],
    ['only proxies', '10.0.0.1', ['10.0.0.3, 10.0.0.2'], '10.0.0.3'],
    ['an entry that is no address', '10.0.0.1', ['192.0.2.7, unknown, 10.0.0.2'], '10.0.0.2'],
    ['an octal address', '10.0.0.1', ['010.0.0.2'], '10.0.0.1'],
    ['an empty entry', '10.0.0.1', ['192.0.2.7,'], '10.0.0.1'],
    ['a port', '10.0.0.1', ['192.0.2.7:4711'], '192.0.2.7'],
    ['IPv6 in one spelling', '10.0.0.1', ['2001:DB8:0:0::7'], '2001:db8::7'],
    ['IPv6 with a port', '10.0.0.1', ['[2001:db8::7]:443'], '2001:db8::7'],
    ['an unclosed bracket', '10.0.0.1', ['[2001:db8::7'], '10.0.0.1'],
    ['a trusted IPv6 proxy', '2001:db8:1::1', ['2001:db8:1::2, 192.0.2.7'], '192.0.2.7'],
    ['an IPv4-mapped peer', '::ffff:10.0.0.1', ['::ffff:192.0.2.7'], '192.0.2.7'],
  ])('%s', (_case, peer, values, ip) => {
    const rawHeaders = ['X-Merchant-Id', 'acme', ...values.flatMap((value) => ['X-Forwarded-For', value])];
    expect(from(peer, ...rawHeaders).ip).toBe(ip);
  });

  it('is found in bounded time', () => {
    const rawHeaders = ['X-Forwarded-For', `192.0.2.7,${'10.0.0.2,'.repeat(50_000)}10.0.0.3`];
    const startedMs = performance.now();
    expect(from('10.0.0.1', ...rawHeaders).ip).toBe('10.0.0.2');
    expect(performance.now() - startedMs).toBeLessThan(1_000);
  });
});
