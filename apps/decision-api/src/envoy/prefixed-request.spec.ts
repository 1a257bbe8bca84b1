import { createTrust, KnownAddresses } from '#edge';
import { prefixedRequest } from './prefixed-request.js';

const known = new KnownAddresses(createTrust(['10.0.0.0/8']));

type Headers = Record<string, string | readonly string[]>;
const PLAIN: Headers = { 'X-Merchant-Id': 'acme', 'Content-Length': '0' };

const read = (headers: Headers, { method = 'POST', path = '/pay?x=1', peer = '10.0.0.1' } = {}) =>
  prefixedRequest(
    {
      method,
      target: `/v1/ext-authz${path}`,
      rawHeaders: Object.entries(headers).flatMap(([name, value]) => [value].flat().flatMap((each) => [name, each])),
      peer,
    },
    known,
  );

const codeOf = (...args: Parameters<typeof read>): unknown => {
  try {
    return read(...args);
  } catch (error) {
    return (error as { code: string }).code;
  }
};

test('the request is the one that Envoy was sent, below the prefix', () => {
  expect(
    read({
      ...PLAIN,
      'X-User-Id': 'u-17',
      'X-Forwarded-For': '1.1.1.1, 192.0.2.7, 10.0.0.9',
      Host: 'api.example.com',
      'X-Channel': ['web', 'app'],
      'X-Tollgate-Token': 'secret',
    }),
  ).toEqual({
    merchant: 'acme',
    user: 'u-17',
    ip: '192.0.2.7',
    method: 'POST',
    path: '/pay?x=1',
    host: 'api.example.com',
    headers: Object.assign(Object.create(null), { 'x-forwarded-for': ['1.1.1.1, 192.0.2.7, 10.0.0.9'], 'x-channel': ['web', 'app'] }),
    bodyUnknown: true,
  });
});

test('what a client says of the request in headers of other proxies does not count', () => {
  const forged = {
    'X-Forwarded-Method': 'GET',
    'X-Forwarded-Uri': '/free',
    'X-Original-URI': '/free',
    'X-Forwarded-Host': 'other.example',
  };
  const { method, path, host } = read({ ...PLAIN, ...forged, Host: 'api.example.com' });
  expect([method, path, host]).toEqual(['POST', '/pay?x=1', 'api.example.com']);
  expect(Object.keys(read({ ...PLAIN, 'X-Tollgate-Descriptor': 'shop/user?ann' }).headers!)).toEqual([]);
});

test('the address of Envoy is not that of its client', () => {
  expect(read(PLAIN).ip).toBeUndefined();
});

test.each([
  ['GET', { 'Content-Length': '0' }, false],
  ['GET', { 'Content-Length': '2' }, true],
  ['GET', { 'Transfer-Encoding': 'chunked' }, true],
  ['POST', { 'Content-Length': '0' }, true],
])('whether there may be a body that nobody has looked at: %s with %j', (method, headers, expected) => {
  expect(read({ 'X-Merchant-Id': 'acme', ...headers }, { method }).bodyUnknown).toBe(expected);
});

test.each<[string, Headers, Parameters<typeof read>[1], string]>([
  ['an untrusted peer', PLAIN, { peer: '192.0.2.1' }, 'ext_authz.untrusted_peer'],
  ['a method that is none', PLAIN, { method: 'M-SEARCH2' }, 'ext_authz.malformed'],
  ['a path of other characters', PLAIN, { path: '/a\u00ff' }, 'ext_authz.malformed'],
  ['a path without a slash', PLAIN, { path: '' }, 'ext_authz.malformed'],
  ['a path that is too long', PLAIN, { path: `/${'a'.repeat(8_192)}` }, 'ext_authz.malformed'],
  ['no merchant', {}, {}, 'identity.missing'],
  ['two merchants', { 'X-Merchant-Id': ['acme', 'other'] }, {}, 'identity.repeated'],
  ['two users', { ...PLAIN, 'X-User-Id': ['a', 'b'] }, {}, 'identity.user_repeated'],
])('%s is refused', (_what, headers, changes, code) => {
  expect(codeOf(headers, changes)).toBe(code);
});
